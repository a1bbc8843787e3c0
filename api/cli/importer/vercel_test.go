package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestImportedCronsOfVercelAreJobFilesWithComments(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "vercel.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, base := range map[string]string{"vercel": "", "vercel-url": "https://shop.example.com"} {
		v := Vercel{Name: "vercel.json", Base: base}
		made, err := v.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".yaml"), made)
	}
}

func TestImportVercelRefusesWhatIsOfNoUse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "x:1:1: not JSON: ",
		"{\n  \"crons\": [}\n":              "x:2:13: not JSON: ",
		"{} // no":                          "x:1:4: not JSON: ",
		"[]":                                "x:1:1: want an object with crons",
		`{"functions": {"crons": []}}`:      "x:1:1: it has no crons",
		"{\"a\": [{}],\n \"crons\": \"é\"}": "x:2:11: crons: want a list of {path, schedule}",
		"{\n\"crons\":\n[{}]}":              "x:3: want path and schedule, each a text",
		`{"crons": [], "crons": []}`:        "x: ",
	} {
		v := Vercel{Name: "x"}
		if _, err := v.Run([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzImportVercel(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "vercel.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"crons": [{"path": "/\u2028{{", "schedule": "1 2 3 4 5", "a\nb": 1}, null, [], {"path": 1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v := Vercel{Name: "x"}
		made, err := v.Run(data)
		if err != nil {
			return
		}
		file, err := jobs.ParseFile("x", made.Text)
		if err != nil {
			t.Fatalf("%v\n%s", err, made.Text)
		}
		for _, j := range file.Jobs {
			if !strings.HasPrefix(j.Webhook.URL, noProject+"/") {
				t.Errorf("calls %s", j.Webhook.URL)
			}
		}
	})
}
