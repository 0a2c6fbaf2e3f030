// Command conformance mounts server/mcp with the fixtures that the conformance suite of the Model Context Protocol asks
// for. It prints its URL and runs until its standard input ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"ionclaw-tray/server/mcp"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "loopback address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	resources := fixtureResources{}
	core := mcp.New(mcp.Options{
		Info:         mcp.Info{Name: "ionclaw-conformance", Title: "IonClaw conformance fixture", Version: "1.0.0"},
		Instructions: "Fixtures of the conformance suite.",
		Tools:        mcp.NewToolSet(tools()...),
		Resources:    resources,
		Completer:    completer{},
	})
	defer core.Close(nil)
	server := &http.Server{Handler: loopbackOnly(core), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		core.Close(nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}()
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// loopbackOnly is the least that protects against DNS rebinding; the program proper has its own, complete guard.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if !isLoopback(r.Host) || origin != "" && !isLoopbackOrigin(origin) {
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"only loopback hosts and origins"}}`, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Host)
}

func isLoopback(hostport string) bool {
	u, err := url.Parse("http://" + hostport)
	if err != nil {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}
