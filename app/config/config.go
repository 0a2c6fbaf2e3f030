package config

import "time"

// Defaults of keys that are absent from the file.
const (
	DefaultHost          = "127.0.0.1"
	DefaultPort          = 8080
	DefaultMaxBody       = 10 << 20 // bytes
	DefaultSessionTTL    = 24 * time.Hour
	DefaultMaxSessions   = 1000
	DefaultRotationGrace = time.Minute
	DefaultMaxParallel   = 8
	DefaultMaxIterations = 40
	DefaultMaxHistory    = 100
	// DefaultAgent is the agent that exists when the file names none.
	DefaultAgent = "main"
	// DefaultModel answers without network and without a model; agents that name no model use it.
	DefaultModel = "builtin/offline"
	// CredentialSimple is the type of a credential that is one key.
	CredentialSimple = "simple"
)

// Config is one valid configuration with all defaults filled in. It is shared between goroutines: nobody changes it,
// its maps or its slices; a later configuration is another value.
type Config struct {
	Server        Server
	Channels      Channels
	Credentials   map[string]Credential // by name; the keys themselves are never in the file
	Providers     map[string]Provider   // what the file says; Provider(name) adds what is built in
	Classifier    Classifier
	AgentsRuntime AgentsRuntime
	Agents        map[string]Agent // by name, at least one
}

// Server is the HTTP server on loopback.
type Server struct {
	Host         string // "localhost" or a loopback address
	Port         int    // 0: a free one is picked
	MaxBody      int64  // bytes of a request body
	TrustedHosts []string
}

// Channels are the ways in.
type Channels struct {
	MCP MCP
}

// MCP configures the MCP channel.
type MCP struct {
	Enabled     bool   // started together with the program
	RequireAuth bool   // every request carries the bearer token
	Credential  string // name of the credential whose key is the token; "" if none
	SessionTTL  time.Duration
	MaxSessions int
	// ProgressWithoutToken streams progress under the task id to clients that gave no progress token.
	ProgressWithoutToken bool
	RotationGrace        time.Duration // how long a replaced token still opens
}

// Credential describes a key that is kept elsewhere.
type Credential struct {
	Type string // CredentialSimple
}

// Provider is a model provider as written in the file.
type Provider struct {
	Credential string // name of a credential; "" if the provider needs none
	BaseURL    string // "" for the built-in one
	Type       string // wire style: "", StyleOpenAI or StyleAnthropic
}

// Classifier chooses an agent when the caller named none.
type Classifier struct {
	Model string // "": the model of the agent `main`
}

// AgentsRuntime bounds the work of all agents together.
type AgentsRuntime struct {
	MaxParallel int // turns at a time
}

// Agent is one agent.
type Agent struct {
	Description   string
	Model         string // "provider/name"
	Instructions  string
	Tools         []string // names; "*" stands for all, empty for none
	MaxIterations int      // model calls of one turn
	MaxHistory    int      // messages sent to the model
	Params        Params
	Fallbacks     []string // models tried in order when Model fails before any text was delivered
}

// Params are sampling settings. Nil and zero leave the choice to the provider.
type Params struct {
	Temperature *float64 // 0 to 2
	TopP        *float64 // 0 to 1
	MaxTokens   int
}

// Default is the configuration of an empty file: one agent, offline, the MCP channel off.
func Default() *Config {
	return &Config{
		Server: Server{Host: DefaultHost, Port: DefaultPort, MaxBody: DefaultMaxBody, TrustedHosts: []string{}},
		Channels: Channels{MCP: MCP{
			SessionTTL: DefaultSessionTTL, MaxSessions: DefaultMaxSessions,
			ProgressWithoutToken: true, RotationGrace: DefaultRotationGrace,
		}},
		Credentials:   map[string]Credential{},
		Providers:     map[string]Provider{},
		AgentsRuntime: AgentsRuntime{MaxParallel: DefaultMaxParallel},
		Agents:        map[string]Agent{DefaultAgent: defaultAgent()},
	}
}

func defaultAgent() Agent {
	return Agent{
		Model: DefaultModel, Tools: []string{}, Fallbacks: []string{},
		MaxIterations: DefaultMaxIterations, MaxHistory: DefaultMaxHistory,
	}
}
