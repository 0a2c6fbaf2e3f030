package config

import "strings"

// Wire styles of model providers.
const (
	StyleOpenAI    = "openai"    // OpenAI chat completions
	StyleAnthropic = "anthropic" // Anthropic Messages
	StyleBuiltin   = "builtin"   // no network; answers come from this program
)

// BuiltinProvider is what the program knows about a provider without being told.
type BuiltinProvider struct {
	BaseURL string // "": the file has to give one (except for StyleBuiltin)
	Style   string // StyleOpenAI, StyleAnthropic or StyleBuiltin
	KeyEnv  string // the environment variable where its key usually is; "" for providers that need no key
}

// BuiltinProviders are the providers that need no entry in the file, by name. It is read only.
var BuiltinProviders = map[string]BuiltinProvider{
	"anthropic":  {"https://api.anthropic.com", StyleAnthropic, "ANTHROPIC_API_KEY"},
	"openai":     {"https://api.openai.com/v1", StyleOpenAI, "OPENAI_API_KEY"},
	"openrouter": {"https://openrouter.ai/api/v1", StyleOpenAI, "OPENROUTER_API_KEY"},
	"google":     {"https://generativelanguage.googleapis.com/v1beta/openai", StyleOpenAI, "GEMINI_API_KEY"},
	"gemini":     {"https://generativelanguage.googleapis.com/v1beta/openai", StyleOpenAI, "GEMINI_API_KEY"},
	"mistral":    {"https://api.mistral.ai/v1", StyleOpenAI, "MISTRAL_API_KEY"},
	"groq":       {"https://api.groq.com/openai/v1", StyleOpenAI, "GROQ_API_KEY"},
	"deepseek":   {"https://api.deepseek.com/v1", StyleOpenAI, "DEEPSEEK_API_KEY"},
	"xai":        {"https://api.x.ai/v1", StyleOpenAI, "XAI_API_KEY"},
	"together":   {"https://api.together.xyz/v1", StyleOpenAI, "TOGETHER_API_KEY"},
	"fireworks":  {"https://api.fireworks.ai/inference/v1", StyleOpenAI, "FIREWORKS_API_KEY"},
	"cerebras":   {"https://api.cerebras.ai/v1", StyleOpenAI, "CEREBRAS_API_KEY"},
	"ollama":     {"http://127.0.0.1:11434/v1", StyleOpenAI, ""},
	"lm_studio":  {"http://127.0.0.1:1234/v1", StyleOpenAI, ""},
	"llama":      {"", StyleOpenAI, ""},
	"builtin":    {"", StyleBuiltin, ""},
}

// Provider is the provider of that name with what is built in filled in: BaseURL and Type are set. It reports false
// for a name that is neither built in nor in the file.
func (c *Config) Provider(name string) (Provider, bool) {
	p, configured := c.Providers[name]
	known, builtin := BuiltinProviders[name]
	if p.BaseURL == "" {
		p.BaseURL = known.BaseURL
	}
	if p.Type == "" {
		p.Type = known.Style
	}
	if p.Type == "" {
		p.Type = StyleOpenAI
	}
	return p, configured || builtin
}

// SplitModel cuts "provider/name" at the first slash. It reports false unless both parts are there; a name may hold
// further slashes.
func SplitModel(model string) (provider, name string, ok bool) {
	provider, name, ok = strings.Cut(model, "/")
	return provider, name, ok && provider != "" && name != ""
}
