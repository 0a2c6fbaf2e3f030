package channel

// The schemas of the tools, as they go over the wire. Inputs are closed: a misspelt argument is an error that names
// it, never silently ignored.
const (
	schemaNone = `{"type":"object","properties":{},"additionalProperties":false}`

	schemaChatIn = `{"type":"object","properties":{` +
		`"message":{"type":"string","description":"What to say to the agent"},` +
		`"session_id":{"type":"string","description":"The chat to continue, as list_sessions shows it. Omit it to go on with this connection's own chat; a new uuid begins another chat"},` +
		`"agent":{"type":"string","description":"Name of the agent, as list_agents shows it. Omit it to let the best fitting one be chosen"}},` +
		`"required":["message"],"additionalProperties":false}`

	schemaSessionIn = `{"type":"object","properties":{` +
		`"session_id":{"type":"string","description":"A uuid, channel:uuid, or agent:name:channel:uuid"}},` +
		`"required":["session_id"],"additionalProperties":false}`

	schemaAbortOut  = `{"type":"object","properties":{"status":{"type":"string","enum":["aborted","no_active_turn"]},"session_id":{"type":"string"}},"required":["status","session_id"]}`
	schemaDeleteOut = `{"type":"object","properties":{"status":{"type":"string","enum":["deleted","not_found"]},"session_id":{"type":"string"}},"required":["status","session_id"]}`

	schemaListSessionsIn = `{"type":"object","properties":{` +
		`"limit":{"type":"integer","minimum":1,"maximum":1000,"default":200},` +
		`"cursor":{"type":"string","description":"next_cursor of the page before"},` +
		`"channel":{"type":"string","enum":["mcp","desktop","api","cli"]},` +
		`"query":{"type":"string","description":"Only chats with this text in their name or messages, in any case"}},` +
		`"additionalProperties":false}`

	schemaListSessionsOut = `{"type":"object","properties":{` +
		`"sessions":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"channel":{"type":"string"},"display_name":{"type":"string"},"created_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"}},"required":["key","channel","display_name","created_at","updated_at"]}},` +
		`"count":{"type":"integer"},"next_cursor":{"type":"string"}},"required":["sessions","count"]}`

	schemaGetSessionIn = `{"type":"object","properties":{` +
		`"session_id":{"type":"string","description":"A uuid, channel:uuid, or agent:name:channel:uuid"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":1000,"default":200,"description":"How many of the last messages"},` +
		`"before":{"type":"integer","minimum":1,"description":"Only messages whose seq is smaller; for reading further back"}},` +
		`"required":["session_id"],"additionalProperties":false}`

	schemaGetSessionOut = `{"type":"object","properties":{"key":{"type":"string"},` +
		`"messages":{"type":"array","items":{"type":"object","properties":{"seq":{"type":"integer"},"role":{"type":"string"},"content":{"type":"string"},"timestamp":{"type":"string","format":"date-time"},"agent":{"type":"string"},"error":{"type":"string"}},"required":["role","content","timestamp"]}},` +
		`"created_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"}},"required":["key","messages","created_at","updated_at"]}`

	schemaListAgentsOut = `{"type":"object","properties":{"agents":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"model":{"type":"string"}},"required":["name","description","model"]}}},"required":["agents"]}`

	schemaListTasksIn = `{"type":"object","properties":{` +
		`"limit":{"type":"integer","minimum":1,"maximum":500,"default":50},` +
		`"state":{"type":"string","enum":["queued","running","done","error","stopped","interrupted"]},` +
		`"agent":{"type":"string"},"session_id":{"type":"string"},` +
		`"cursor":{"type":"string","description":"next_cursor of the page before"}},` +
		`"additionalProperties":false}`

	schemaListTasksOut = `{"type":"object","properties":{` +
		`"tasks":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"state":{"type":"string"},"channel":{"type":"string"},"created_at":{"type":"string","format":"date-time"},"result":{"type":"string"}},"required":["id","title","state","channel","created_at","result"]}},` +
		`"count":{"type":"integer"},"next_cursor":{"type":"string"}},"required":["tasks","count"]}`

	schemaGetTaskIn = `{"type":"object","properties":{"task_id":{"type":"string","description":"As list_tasks shows it"}},"required":["task_id"],"additionalProperties":false}`

	schemaTask = `{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"state":{"type":"string"},"channel":{"type":"string"},"session_id":{"type":"string"},"agent":{"type":"string"},` +
		`"created_at":{"type":"string","format":"date-time"},"started_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"},"completed_at":{"type":"string","format":"date-time"},` +
		`"result":{"type":"string"},"error_message":{"type":"string"},"error_class":{"type":"string"},"iteration_count":{"type":"integer"},"tool_count":{"type":"integer"},` +
		`"usage":{"type":"object","properties":{"input":{"type":"integer"},"output":{"type":"integer"},"cache_read":{"type":"integer"},"cache_write":{"type":"integer"}}},"queue_position":{"type":"integer"}},` +
		`"required":["id","title","state","channel","session_id","created_at","updated_at","iteration_count","tool_count","usage"]}`
)
