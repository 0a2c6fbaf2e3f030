package mcp

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Every row of the table of the contract's JSON-RPC section, and what it says about ids.
func TestJSONRPC(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_11_25)
	deep := strings.Repeat("[", maxDepth+5)
	tests := []struct {
		name, body string
		status     int
		want       string // contained in the body; "" means no body
	}{
		{"not JSON", `{"jsonrpc"`, 400, `"id":null,"error":{"code":-32700`},
		{"empty body", ``, 400, `"id":null,"error":{"code":-32700`},
		{"two values", `{} {}`, 400, `"code":-32700`},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 400, `"code":-32700`},
		{"raw control in string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}", 400, `"code":-32700`},
		{"deep", deep, 400, `"code":-32600`},
		{"deep objects", strings.Repeat(`{"a":`, 100000) + "1", 400, `"code":-32600`},
		{"a string", `"ping"`, 400, `"id":null,"error":{"code":-32600`},
		{"a number", `5`, 400, `"code":-32600`},
		{"null", `null`, 400, `"code":-32600`},
		{"empty object", `{}`, 400, `"code":-32600`},
		{"jsonrpc missing", `{"id":7,"method":"ping"}`, 400, `"id":7,"error":{"code":-32600`},
		{"jsonrpc wrong", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, 400, `"id":7,"error":{"code":-32600`},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":7,"method":"ping"}`, 400, `"code":-32600`},
		{"method a number", `{"jsonrpc":"2.0","id":7,"method":5}`, 400, `"id":7,"error":{"code":-32600`},
		{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, 400, `"code":-32600`},
		{"method missing", `{"jsonrpc":"2.0","id":7}`, 400, `"code":-32600`},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, `"id":null,"error":{"code":-32600`},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, `"id":null,"error":{"code":-32600`},
		{"id array", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, 400, `"id":null,"error":{"code":-32600`},
		{"id boolean", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, 400, `"id":null,"error":{"code":-32600`},
		{"id huge", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxIDBytes) + `","method":"ping"}`, 400, `"id":null,"error":{"code":-32600`},
		{"array", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, `"code":-32600`},
		{"empty array", `[]`, 400, `"code":-32600`},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, 200, `"id":1,"error":{"code":-32601`},
		{"prompts are not offered", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, 200, `"code":-32601`},
		{"unknown tool", call("1", "nope", "{}", ""), 200, `"error":{"code":-32601,"message":"unknown tool \"nope\""`},
		{"missing argument", call("1", "echo", "{}", ""), 200, `"error":{"code":-32602,"message":"parameter \"message\"`},
		{"arguments absent", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, 200, `\"message\"`},
		{"params an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["echo"]}`, 200, `"code":-32602,"message":"parameter \"params\"`},
		{"params a string", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, 200, `"code":-32602,"message":"parameter \"params\"`},
		{"params absent", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 200, `"code":-32602,"message":"parameter \"name\"`},
		{"name a number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":4}}`, 200, `"code":-32602,"message":"parameter \"name\"`},
		{"arguments an array", call("1", "echo", "[]", ""), 200, `"code":-32602,"message":"parameter \"arguments\"`},
		{"meta a string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"},"_meta":"m"}}`, 200, `"code":-32602,"message":"parameter \"_meta\"`},
		{"token huge", call("1", "echo", `{"message":"x"}`, `"`+strings.Repeat("t", maxTokenBytes)+`"`), 200, `"code":-32602,"message":"parameter \"_meta.progressToken\"`},
		{"argument of wrong type", call("1", "echo", `{"message":5}`, ""), 200, `argument \"message\" must be a string, not 5.`},
		{"argument null", call("1", "echo", `{"message":null}`, ""), 200, `"isError":true`},
		{"unknown argument", call("1", "echo", `{"message":"x","colour":1}`, ""), 200, `unknown argument \"colour\"; this tool takes limit, message, state.`},
		{"fraction", call("1", "echo", `{"message":"x","limit":1.5}`, ""), 200, `must be an integer, not 1.5`},
		{"too small", call("1", "echo", `{"message":"x","limit":0}`, ""), 200, `must be at least 1`},
		{"too big", call("1", "echo", `{"message":"x","limit":501}`, ""), 200, `must be at most 500`},
		{"not in enum", call("1", "echo", `{"message":"x","state":"up"}`, ""), 200, `must be one of \"on\", \"off\"`},
		{"optional null", call("1", "echo", `{"message":"x","limit":null}`, ""), 200, `"content":[{"type":"text","text":"x"}]`},
		{"tool without arguments", call("1", "nothing", `{}`, ""), 200, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{"argument to a tool without", call("1", "nothing", `{"a":1}`, ""), 200, `takes none`},
		{"tool finds a bad parameter", call("1", "picky", `{}`, ""), 200, `"code":-32602,"message":"parameter \"color\"`},
		{"unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://no"}}`, 200, `"code":-32002,"message":"unknown resource test://no","data":{"uri":"test://no"}`},
		{"resource without uri", `{"jsonrpc":"2.0","id":1,"method":"resources/read"}`, 200, `"code":-32602,"message":"parameter \"uri\"`},
		{"tool panics", call("1", "panic", `{}`, ""), 200, `"code":-32603,"message":"internal error`},
		{"tool has a bug", call("1", "fail", `{}`, ""), 200, `"code":-32603,"message":"internal error`},
		{"tool gives broken JSON", call("1", "badjson", `{}`, ""), 200, `"code":-32603,"message":"internal error`},
		{"resource panics", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://panic"}}`, 200, `"code":-32603`},
		{"resource has a bug", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://broken"}}`, 200, `"code":-32603`},
		{"known notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ``},
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/whatever","params":{}}`, 202, ``},
		{"cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, 202, ``},
		{"cancellation without id", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, 202, ``},
		{"response", `{"jsonrpc":"2.0","id":3,"result":{}}`, 202, ``},
		{"error response", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, 202, ``},
		{"id zero", `{"jsonrpc":"2.0","id":0,"method":"ping"}`, 200, `{"jsonrpc":"2.0","id":0,"result":{}}`},
		{"id empty", `{"jsonrpc":"2.0","id":"","method":"ping"}`, 200, `{"jsonrpc":"2.0","id":"","result":{}}`},
		{"id string of digits", `{"jsonrpc":"2.0","id":"1","method":"ping"}`, 200, `"id":"1"`},
		{"id large", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, 200, `"id":123456789012345678901234567890,`},
		{"id negative fraction", `{"jsonrpc":"2.0","id":-1.50e+3,"method":"ping"}`, 200, `"id":-1.50e+3,`},
		{"id escaped", `{"jsonrpc":"2.0","id":"\u00e4\/\"","method":"ping"}`, 200, `"id":"\u00e4\/\"",`},
		{"method escaped", `{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, 200, `"result":{}`},
		{"member name escaped", `{"jsonrpc":"2.0","\u0069d":1,"method":"ping"}`, 200, `"id":1,"result":{}`},
		{"unknown members", `{"jsonrpc":"2.0","id":1,"method":"ping","x":[{"y":null}],"params":{"z":1}}`, 200, `"result":{}`},
		{"duplicate member", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 200, `"id":1,`},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`, 200, `"tools":[`},
		{"whitespace", " \r\n\t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"ping\" } \n", 200, `"id":1,"result":{}`},
		{"log level", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`, 200, `"result":{}`},
		{"bad log level", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, 200, `"code":-32602,"message":"parameter \"level\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body, h := f.send("POST", tt.body, header{"Mcp-Session-Id": id})
			if status != tt.status || !strings.Contains(body, tt.want) || (tt.want == "") != (body == "") {
				t.Errorf("got %d %s\nwant %d %s", status, body, tt.status, tt.want)
			}
			if body != "" && h.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type: got %q, want application/json", h.Get("Content-Type"))
			}
			if leak := regexp.MustCompile(`secret|panic|goroutine`).FindString(body); leak != "" && strings.Contains(body, "error") {
				t.Errorf("the answer says %q: %s", leak, body)
			}
		})
	}
}

func TestReads(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_06_18)
	tests := []struct{ name, method, params, want string }{
		{"tools", "tools/list", `{}`, `{"name":"echo","title":"Echo","description":"gives back","inputSchema":{"type":"object"`},
		{"tools without params member", "tools/list", ``, `"tools":[{"name":"echo"`},
		{"bad cursor", "tools/list", `{"cursor":"zzz"}`, `"code":-32602,"message":"parameter \"cursor\"`},
		{"resources", "resources/list", `{}`, `{"resources":[{"uri":"test://one","name":"one","title":"One","description":"the first","mimeType":"text/plain"}]}`},
		{"templates", "resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"test://item/{id}","name":"item","mimeType":"application/json"}]}`},
		{"text", "resources/read", `{"uri":"test://one"}`, `{"contents":[{"uri":"test://one","mimeType":"text/plain","text":"eins <&>"}]}`},
		{"blob", "resources/read", `{"uri":"test://blob"}`, `{"contents":[{"uri":"test://blob","blob":"AAEC"}]}`},
		{"subscribe", "resources/subscribe", `{"uri":"test://one"}`, `"result":{}`},
		{"subscribe to nothing", "resources/subscribe", `{"uri":"other://one"}`, `"code":-32002`},
		{"unsubscribe", "resources/unsubscribe", `{"uri":"test://one"}`, `"result":{}`},
		{"unsubscribe again", "resources/unsubscribe", `{"uri":"test://one"}`, `"result":{}`},
		{"completion", "completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"v"}}`, `"v99"],"total":150,"hasMore":true}}`},
		{"completion of unknown", "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"id","value":"v"}}`, `"code":-32602,"message":"parameter \"ref\"`},
		{"completion without ref", "completion/complete", `{"argument":{"name":"id","value":"v"}}`, `"code":-32602,"message":"parameter \"ref\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + tt.method + `"`
			if tt.params != "" {
				body += `,"params":` + tt.params
			}
			status, got, _ := f.send("POST", body+"}", header{"Mcp-Session-Id": id})
			if status != 200 || !strings.Contains(got, tt.want) {
				t.Errorf("got %d %s\nwant 200 %s", status, got, tt.want)
			}
		})
	}
}

func TestToolResult(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session(Revision2025_06_18)
	_, got, _ := f.send("POST", call(`"a"`, "echo", `{"message":"a\u2028<b>\"\\\n\u0001"}`, ""), header{"Mcp-Session-Id": id})
	want := `{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"a\u2028<b>\"\\\n\u0001"}],` +
		"\"structuredContent\":{\n \"a\": 1\r\n}" + `,"_meta":{"n":1,"x/y":"z"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBatch(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.MaxBatch = 5 })
	id := f.session(Revision2025_03_26)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"two", `[` + ping + `,{"jsonrpc":"2.0","id":"b","method":"ping"}]`, 200, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{}}]`},
		{"notification omitted", `[{"jsonrpc":"2.0","method":"notifications/x"},` + ping + `]`, 200, `[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		{"only notifications", `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, ``},
		{"call", `[` + call("5", "nothing", "{}", "") + `,` + call("6", "nope", "{}", "") + `]`, 200,
			`[{"jsonrpc":"2.0","id":5,"result":{"content":[]}},{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"unknown tool \"nope\""}}]`},
		{"one of them invalid", `[1,` + ping + `]`, 200,
			`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a JSON-RPC message must be an object"}},{"jsonrpc":"2.0","id":1,"result":{}}]`},
		{"initialize", `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, 200,
			`[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize must not be part of a batch"}}]`},
		{"empty", `[ ]`, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the batch is empty"}}`},
		{"too long", `[1,1,1,1,1,1]`, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch has at most 5 messages"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, got, _ := f.send("POST", tt.body, header{"Mcp-Session-Id": id, "Accept": acceptBoth})
			if status != tt.status || got != tt.want {
				t.Errorf("got %d %s\nwant %d %s", status, got, tt.status, tt.want)
			}
		})
	}
	for _, version := range []string{Revision2024_11_05, Revision2025_06_18, Revision2025_11_25} {
		status, got, _ := f.send("POST", "["+ping+"]", header{"Mcp-Session-Id": f.session(version)})
		if status != 400 || !strings.Contains(got, "-32600") {
			t.Errorf("batch at %s: got %d %s, want 400 -32600", version, status, got)
		}
	}
	if status, got, _ := f.send("POST", "["+ping+"]", nil); status != 400 || !strings.Contains(got, "-32600") {
		t.Errorf("batch without session: got %d %s, want 400 -32600", status, got)
	}
}

func TestMethods(t *testing.T) {
	f := newFixture(t, nil)
	for _, method := range []string{"PUT", "PATCH", "HEAD", "TRACE", "BREW"} {
		resp := f.do(method, "", nil)
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, POST, DELETE" {
			t.Errorf("%s: got %d, Allow %q; want 405, GET, POST, DELETE", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

func TestContentType(t *testing.T) {
	f := newFixture(t, nil)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	for ct, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON;charset=UTF-8": 200,
		"-": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data": 415,
		"application/jsonp": 415, "text/json, application/json": 415,
	} {
		if status, got, _ := f.send("POST", body, header{"Content-Type": ct}); status != want {
			t.Errorf("%s: got %d %s, want %d", ct, status, got, want)
		}
	}
}

func TestPaging(t *testing.T) {
	entries := [][]byte{[]byte("1"), []byte("2"), []byte("3"), []byte("4"), []byte("5")}
	list := newPages("n", entries, 2)
	params, got := "{}", ""
	for range 5 {
		page, fault := list.page([]byte(params))
		if fault != nil {
			t.Fatal(fault.message)
		}
		got += string(page)
		next := member(page, "nextCursor")
		if next == nil {
			break
		}
		params = `{"cursor":` + string(next) + `}`
	}
	want := `{"n":[1,2],"nextCursor":"cDE"}{"n":[3,4],"nextCursor":"cDI"}{"n":[5]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if page, _ := newPages("n", nil, 2).page(nil); string(page) != `{"n":[]}` {
		t.Errorf("empty list: got %s", page)
	}
	for _, bad := range []string{`1`, `"p1"`, `"cDk"`, `"cDA"`, `"cC0x"`, `{}`} {
		if _, fault := list.page([]byte(`{"cursor":` + bad + `}`)); fault == nil || fault.code != codeInvalidParams {
			t.Errorf("cursor %s: got %v, want -32602", bad, fault)
		}
	}
}
