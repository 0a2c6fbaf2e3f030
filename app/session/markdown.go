package session

import (
	"fmt"
	"strings"
)

// Markdown writes a chat for people: who said what and when, in order. What was said stands as it is; what tools were
// given and returned is fenced, so that it cannot change the document round it.
func Markdown(chat Info, messages []Message) string {
	var b strings.Builder
	name := chat.DisplayName
	if name == "" {
		name = chat.Key.Short()
	}
	fmt.Fprintf(&b, "# %s\n\nChat `%s`, begun %s, last changed %s.\n", plain(name), chat.Key, chat.CreatedAt, chat.UpdatedAt)
	for _, m := range messages {
		who := string(m.Role)
		if m.Role == RoleAssistant && m.Agent != "" {
			who = m.Agent
		}
		fmt.Fprintf(&b, "\n## %s, %s\n", plain(who), m.Timestamp)
		if text := strings.TrimSpace(m.Content); text != "" && m.Role == RoleTool {
			b.WriteString("\n" + fenced(text, ""))
		} else if text != "" {
			b.WriteString("\n" + text + "\n")
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "\nCall of %s:\n\n%s", plain(c.Name), fenced(string(c.Arguments), "json"))
		}
		switch {
		case m.Error != "":
			b.WriteString("\n> " + strings.ReplaceAll(m.Error, "\n", "\n> ") + "\n")
		case m.Aborted:
			b.WriteString("\n> aborted\n")
		}
	}
	return b.String()
}

// markup are the characters with which Markdown begins something within a line.
const markup = "\\`*_[]<>#|~"

// plain keeps the characters of one line from being taken for markup.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(markup, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fenced makes a block of code, with a fence that is longer than any in the text (CommonMark 0.31, 4.5).
func fenced(text, language string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}
