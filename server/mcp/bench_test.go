package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const benchConnections = 32

// BenchmarkCall compares a tools/call of a trivial tool on 32 kept connections: a bare handler that writes fixed bytes
// (the floor), this package as JSON and as an event stream, and the server of the Go SDK. The client writes prepared
// bytes, so that its share of the CPU is small and the same for all.
func BenchmarkCall(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"pong"}]}}`)
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	b.Run("floor", func(b *testing.B) { benchCalls(b, floor, "application/json", "") })

	core := New(Options{Info: Info{Name: "bench"}, Tools: NewToolSet(&Tool{Name: "ping",
		Handle: func(context.Context, *Call) (*Result, error) { return TextResult("pong"), nil }})})
	defer core.Close(nil)
	b.Run("json", func(b *testing.B) { benchCalls(b, core, "application/json", benchSession(b, core)) })
	b.Run("stream", func(b *testing.B) { benchCalls(b, core, acceptBoth, benchSession(b, core)) })

	for _, asJSON := range []bool{true, false} {
		server := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
		server.AddTool(&sdk.Tool{Name: "ping", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "pong"}}}, nil
			})
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
			&sdk.StreamableHTTPOptions{JSONResponse: asJSON})
		b.Run(map[bool]string{true: "sdk-json", false: "sdk-stream"}[asJSON], func(b *testing.B) {
			benchCalls(b, h, acceptBoth, benchSession(b, h))
		})
	}
}

func benchServe(b *testing.B, h http.Handler) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(listener)
	b.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

func benchSession(b *testing.B, h http.Handler) string {
	b.Helper()
	addr := benchServe(b, h)
	post := func(body, session string) *http.Response {
		req, err := http.NewRequest("POST", "http://"+addr, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", acceptBoth)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	defer http.DefaultClient.CloseIdleConnections()
	session := post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`, "").Header.Get("Mcp-Session-Id")
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
	return session
}

func benchCalls(b *testing.B, h http.Handler, accept, session string) {
	addr := benchServe(b, h)
	request := func(id int) []byte { // the SDK refuses an id that is in use, so each connection has its own
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ping","arguments":{}}}`, id)
		return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\n"+
			"Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: %d\r\n\r\n%s", addr, accept, session, len(body), body)
	}
	conns := make([]net.Conn, benchConnections)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	var wg sync.WaitGroup
	for i, c := range conns {
		n := b.N / benchConnections
		if i < b.N%benchConnections {
			n++
		}
		wg.Go(func() {
			in, request := bufio.NewReader(c), request(i)
			for range n {
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// skipAnswer reads one HTTP response with as little work as possible.
func skipAnswer(in *bufio.Reader) error {
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && string(line) != "HTTP/1.1 200 OK\r\n" {
			return fmt.Errorf("got %q", line)
		}
		if len(line) == 2 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length = parseNumber(n, 10)
		}
		chunked = chunked || string(line) == "Transfer-Encoding: chunked\r\n"
	}
	if !chunked {
		_, err := in.Discard(length)
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n := parseNumber(line, 16)
		if _, err := in.Discard(n + 2); err != nil || n == 0 {
			return err
		}
	}
}

// parseNumber reads a number that ends with the line, without an allocation.
func parseNumber(line []byte, base int) (n int) {
	for _, c := range bytes.TrimSpace(line) {
		n = n*base + strings.IndexByte(hexDigits, c)
	}
	return n
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIdleSession reports the heap that one idle session costs.
func BenchmarkIdleSession(b *testing.B) {
	s := New(Options{MaxSessions: b.N + 1})
	defer s.Close(nil)
	before := heap()
	for range b.N {
		s.createSession(Revision2025_11_25, "claude-code", "2.1.332", strings.Repeat("d", 64))
	}
	b.ReportMetric(float64(heap()-before)/float64(b.N), "B/session")
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
