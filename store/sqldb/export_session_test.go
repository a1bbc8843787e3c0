package sqldb

import "maps"

// sessionStatements are those of sessions.
var sessionStatements = map[string]string{
	"selectSessions": selectSessions, "selectSessionLink": selectSessionLink, "insertSession": insertSession,
	"updateSessionUsed": updateSessionUsed, "deleteSession": deleteSession, "deleteTokenSessions": deleteTokenSessions,
	"selectSessionToken": selectSessionToken, "deleteOverSessions": deleteOverSessions,
}

func init() { maps.Copy(Statements, sessionStatements) }
