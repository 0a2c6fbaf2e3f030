package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"ionclaw-tray/app/session"
)

// player plays one script to one client.
type player struct {
	w      http.ResponseWriter
	ctx    context.Context
	closed <-chan struct{}
	req    *Request
	script Script
}

// wait blocks until c gives something. If the client or the server goes away first, the handler is aborted, so that
// nobody takes the end for an answer.
func wait[T any](p *player, c <-chan T) {
	select {
	case <-c:
	case <-p.ctx.Done():
		panic(http.ErrAbortHandler)
	case <-p.closed:
		panic(http.ErrAbortHandler)
	}
}

// piece waits for the right to send one more piece.
func (p *player) piece() {
	if p.script.Gate != nil {
		wait(p, p.script.Gate)
	}
	if p.script.Delay > 0 {
		t := time.NewTimer(p.script.Delay)
		defer t.Stop()
		wait(p, t.C)
	}
}

func (p *player) play() {
	s := p.script
	if s.Hang {
		wait(p, s.Release)
	}
	for k, v := range s.Header {
		p.w.Header()[http.CanonicalHeaderKey(k)] = v
	}
	if s.Body != "" || (s.Status != 0 && s.Status != http.StatusOK) {
		if p.w.Header().Get("Content-Type") == "" {
			p.w.Header().Set("Content-Type", "application/json")
		}
		if s.Status != 0 {
			p.w.WriteHeader(s.Status)
		}
		io.WriteString(p.w, s.Body)
		return
	}
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	p.flush()
	if s.Silence {
		wait(p, s.Release)
	}
	if p.req.Style == Anthropic {
		p.anthropic()
	} else {
		p.openAI()
	}
}

func (p *player) flush() {
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// end plays the endings that are no proper end. True: the proper one is not wanted.
func (p *player) end() bool {
	if p.script.ErrorEvent != "" {
		p.event("error", p.script.ErrorEvent)
		return true
	}
	if p.script.CloseMidStream {
		panic(http.ErrAbortHandler) // the documented way to break a connection from a handler
	}
	return p.script.NoFinish
}

// event sends one event; only the Anthropic style names them.
func (p *player) event(name, data string) {
	if p.req.Style == Anthropic {
		fmt.Fprintf(p.w, "event: %s\n", name)
	}
	fmt.Fprintf(p.w, "data: %s\n\n", data)
	p.flush()
}

type object map[string]any

func (p *player) send(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // the data are literals of this package
	}
	p.event(name, string(b))
}

func (p *player) openAI() {
	chunk := func(delta object, finish any) {
		p.send("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": p.req.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	for _, text := range p.script.Reasoning {
		p.piece()
		chunk(object{"reasoning_content": text}, nil)
	}
	for _, text := range p.script.Chunks {
		p.piece()
		chunk(object{"content": text}, nil)
	}
	for i, c := range p.script.ToolCalls {
		for j, piece := range c.pieces() {
			call := object{"index": i, "function": object{"arguments": piece}}
			if j == 0 {
				call = object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": piece}}
			}
			chunk(object{"tool_calls": []any{call}}, nil)
		}
	}
	if p.end() {
		return
	}
	finish := p.script.Finish
	switch {
	case finish != "":
	case p.script.ToolCalls != nil:
		finish = "tool_calls"
	default:
		finish = "stop"
	}
	chunk(object{}, finish)
	if u := p.script.Usage; u != nil && p.req.WantUsage {
		p.send("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []any{}, "usage": object{
			"prompt_tokens": u.Input + u.CacheRead + u.CacheWrite, "completion_tokens": u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead}}})
	}
	p.event("", "[DONE]")
}

func (p *player) anthropic() {
	var u session.Usage
	if p.script.Usage != nil {
		u = *p.script.Usage
	}
	p.send("message_start", object{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant",
		"model": p.req.Model, "content": []any{}, "usage": object{"input_tokens": u.Input, "output_tokens": 1,
			"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}}})
	p.send("ping", object{"type": "ping"})
	index := 0
	block := func(start object, kind, key string, pieces []string, paced bool) {
		p.send("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		for _, piece := range pieces {
			if paced {
				p.piece()
			}
			p.send("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": object{"type": kind, key: piece}})
		}
		p.send("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if p.script.Reasoning != nil {
		block(object{"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", p.script.Reasoning, true)
	}
	if p.script.Chunks != nil {
		block(object{"type": "text", "text": ""}, "text_delta", "text", p.script.Chunks, true)
	}
	for _, c := range p.script.ToolCalls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, "input_json_delta", "partial_json", c.pieces(), false)
	}
	if p.end() {
		return
	}
	finish := p.script.Finish
	switch {
	case finish != "":
	case p.script.ToolCalls != nil:
		finish = "tool_use"
	default:
		finish = "end_turn"
	}
	p.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": object{"output_tokens": u.Output}})
	p.send("message_stop", object{"type": "message_stop"})
}
