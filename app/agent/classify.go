package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"ionclaw-tray/app/config"
	"ionclaw-tray/app/model"
	"ionclaw-tray/app/session"
	"ionclaw-tray/app/tool"
)

const (
	// classifyTime bounds the choice of an agent; after it the default answers.
	classifyTime = 10 * time.Second
	// classifyMessages is how many of the chat's last messages the classifier sees, each cut to classifyClip bytes.
	classifyMessages = 6
	classifyClip     = 600
	// DefaultAgent answers when nobody chose and the classifier cannot.
	DefaultAgent = "main"
)

// chooseAgent sets the agent of the turn: the one that was asked for, the only one, or the classifier's choice.
func (w *work) chooseAgent(history []session.Message) error {
	cfg := w.Config()
	name := w.turn.req.Agent
	if name == "" {
		name = w.classifyAgent(cfg, history)
	}
	a, ok := cfg.Agents[name]
	if !ok { // removed from the configuration while the message waited
		return &turnError{class: string(model.BadRequest), text: w.checkAgent(name).Error()}
	}
	w.name, w.cfg = name, a
	return nil
}

// classifyAgent asks a model which agent fits. Whatever goes wrong, there is an answer: the chat's present agent,
// else "main", else the first by name.
func (w *work) classifyAgent(cfg *config.Config, history []session.Message) string {
	names := agentNames(cfg.Agents)
	if len(names) == 1 {
		return names[0]
	}
	current := ""
	if info, err := w.Store.Session(w.turn.Key()); err == nil && slices.Contains(names, info.Agent) {
		current = info.Agent
	}
	fallback := current
	if fallback == "" {
		fallback = names[0]
		if slices.Contains(names, DefaultAgent) {
			fallback = DefaultAgent
		}
	}
	modelName := cfg.Classifier.Model
	if modelName == "" {
		modelName = cfg.Agents[fallback].Model
		if a, ok := cfg.Agents[DefaultAgent]; ok {
			modelName = a.Model
		}
	}

	w.say("choosing an agent")
	choices := make([]model.RouteAgent, len(names))
	for i, n := range names {
		choices[i] = model.RouteAgent{Name: n, Description: cfg.Agents[n].Description}
	}
	spec := model.RouteTool(choices, current)
	cold := 0.0
	ctx, cancel := context.WithTimeout(w.turn.ctx, classifyTime)
	defer cancel()
	resp, err := w.Models().Stream(ctx, []string{modelName}, model.Request{
		System:    "You route a message to the agent that fits it best. Call the tool " + spec.Name + " and write nothing else. Keep the present agent unless the topic has clearly changed.",
		Messages:  routeMessages(history, w.turn.req.Message),
		Tools:     []tool.Spec{spec},
		ForceTool: spec.Name,
		Params:    model.Params{Temperature: &cold, MaxTokens: 256},
	}, func(model.Chunk) { w.touch() }, func(string) {})
	if err != nil {
		w.Log.Warn("choosing an agent failed", "model", modelName, "chosen", fallback, "err", err)
		return fallback
	}
	w.usage = w.usage.Add(resp.Usage)
	choice, err := model.ParseRoute(resp)
	if err != nil {
		w.Log.Warn("the classifier gave no usable answer", "model", modelName, "chosen", fallback, "err", err)
		return fallback
	}
	if slices.Contains(names, choice) {
		return choice
	}
	for _, n := range names {
		if strings.EqualFold(n, strings.TrimSpace(choice)) {
			return n
		}
	}
	w.Log.Warn("the classifier named an agent that does not exist", "model", modelName, "chosen", fallback)
	return fallback
}

// routeMessages is the end of the chat, as plain text in one user message: roles and tools of the chat must not
// tempt the classifier to answer it.
func routeMessages(history []session.Message, message string) []model.Message {
	var b strings.Builder
	if len(history) > classifyMessages {
		history = history[len(history)-classifyMessages:]
	}
	for _, m := range history {
		if m.Content != "" && (m.Role == session.RoleUser || m.Role == session.RoleAssistant) {
			b.WriteString(string(m.Role) + ": " + clip(m.Content, classifyClip) + "\n\n")
		}
	}
	b.WriteString(model.RouteNewMessage + clip(message, 4*classifyClip))
	return []model.Message{{Role: session.RoleUser, Text: b.String()}}
}
