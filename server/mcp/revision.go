package mcp

import "slices"

// Revisions of the protocol that have sessions.
const (
	Revision2024_11_05 = "2024-11-05"
	Revision2025_03_26 = "2025-03-26"
	Revision2025_06_18 = "2025-06-18"
	Revision2025_11_25 = "2025-11-25"
)

// revisions that this server speaks, newest first. The first answers a client that asks for an unknown one.
var revisions = []string{Revision2025_11_25, Revision2025_06_18, Revision2025_03_26, Revision2024_11_05}

const (
	// firstStateless is the first revision without sessions. Requests of it and of anything newer are refused with an
	// error from which clients fall back to initialize.
	firstStateless = "2026-07-28"
	versionMetaKey = "io.modelcontextprotocol/protocolVersion"
)

// negotiate picks the revision of a session (MCP lifecycle, version negotiation).
func negotiate(asked string) string {
	if slices.Contains(revisions, asked) {
		return asked
	}
	return revisions[0]
}

// isDate reports whether v has the form of a revision, so that comparing it as text is comparing dates.
func isDate(v string) bool {
	if len(v) != 10 || v[4] != '-' || v[7] != '-' {
		return false
	}
	for i := range len(v) {
		if i != 4 && i != 7 && (v[i] < '0' || v[i] > '9') {
			return false
		}
	}
	return true
}

// checkVersion looks at the version that a request claims, in its header and in its params. A nil result is a go-ahead.
func checkVersion(header string, m *message) *rpcError {
	if isDate(header) && header >= firstStateless {
		return unsupportedVersion(header)
	}
	if m.params != nil {
		if claimed := member(member(m.params, "_meta"), versionMetaKey); claimed != nil {
			return unsupportedVersion(unquote(claimed))
		}
	}
	if string(m.method) == "server/discover" {
		return unsupportedVersion(header)
	}
	if header != "" && !slices.Contains(revisions, header) && string(m.method) != "initialize" {
		return &rpcError{code: codeInvalidRequest,
			message: "MCP-Protocol-Version " + clip(header, 64) + " is not supported; supported are " + revisionList()}
	}
	return nil
}

func revisionList() string {
	text := ""
	for i, r := range revisions {
		if i > 0 {
			text += ", "
		}
		text += r
	}
	return text
}

func unsupportedVersion(requested string) *rpcError {
	data := []byte(`{"supported":[`)
	for i, r := range revisions {
		if i > 0 {
			data = append(data, ',')
		}
		data = appendString(data, r)
	}
	data = append(appendString(append(data, `],"requested":`...), clip(requested, 64)), '}')
	return &rpcError{code: codeUnsupportedVersion, data: data,
		message: "this protocol version is not supported; send initialize with one of " + revisionList()}
}
