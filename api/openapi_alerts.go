package api

// alertPassages are the chapter about who is told of what.
var alertPassages = []passage{
	{
		Text: "What is worth telling is an event; an alert makes a run of a job from it, exactly once, and that run tells: a " +
			"webhook of a chat, a mail, a script. Its trigger is alert, its label alert the alert's name, its payload the event, " +
			"CloudEvents 1.0 in JSON, with data that always has job, run, labels, error, attempts, count, first_at, last_at, " +
			"missing, url and test, null where there is nothing of the sort, and what else the event says.",
		Code: `curl -sS -X PUT "$NIGHTSHIFT_SERVER/v1/jobs/alert-slack" -H "Authorization: Bearer $NIGHTSHIFT_TOKEN" -d '{
  "webhook": {
    "url": "https://hooks.slack.com/{{ secrets.ALERT_SLACK }}",
    "body": "{{ slack(payload) }}",
    "nightshift_headers": false
  }
}'
curl -sS -X PUT "$NIGHTSHIFT_SERVER/v1/alerts/failures" -H "Authorization: Bearer $NIGHTSHIFT_TOKEN" -d '{
  "on": ["run.failed", "run.recovered"], "run": "alert-slack"
}'
curl -sS -X POST "$NIGHTSHIFT_SERVER/v1/alerts/test" -H "Authorization: Bearer $NIGHTSHIFT_TOKEN"`,
	},
	{
		Text: "In the templates of a webhook, a script or a mail, slack(payload) is a message for a Slack incoming webhook: an " +
			"object with text and blocks, within Slack's limits (50 blocks, 3,000 characters a text, 150 a header), escaped, and " +
			"calling nobody, whatever a text in it says. text(payload) is the same as plain text of several lines, whose first " +
			"says it all; text(payload, 1) is that line alone, for a subject. Both take any event, and any other value as well.",
	},
	{
		Text: "Alike events are folded: of an alert, a job and a fingerprint the first is told at once, those within the throttle " +
			"in one message at its end, with count, first_at and last_at. More than 10 messages of an alert in a minute become one " +
			"digest, of type alert.digest, whose data.events begins to list them. A run that tells and fails with an error that its " +
			"rules retry is tried again for 24 h, whatever max_attempts says; one that fails for good makes the event " +
			"alert.undelivered, and what tells of that makes none.",
	},
}
