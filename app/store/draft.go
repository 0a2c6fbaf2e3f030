package store

import (
	"bytes"
	"fmt"
	"strings"

	"ionclaw-tray/app/session"
)

// draft is an answer that is still being written, or a piece of one. Stored form: agent, 0, text; the pieces of one
// commit are joined before.
type draft struct {
	agent string
	text  strings.Builder
}

// Draft adds text to the unfinished answer of a task, so that a crash loses at most what came in the last MaxDelay.
// The draft ends with the task's next assistant message or its final state; InterruptTasks turns what is left after a
// crash into a message. It is not part of the chat's history until then, and nobody is notified.
func (s *Store) Draft(key session.Key, agent, taskID, text string) {
	if text == "" || taskID == "" || len(taskID) > maxTaskID || strings.ContainsRune(taskID, 0) || checkNames(key, agent) != nil {
		return // nothing that could be found again
	}
	s.enqueue(s.life, 2*len(text), func(c *change) error {
		c.wrote = true
		if c.drafts == nil {
			c.drafts = make(map[string]*draft)
		}
		d := c.drafts[taskID]
		if d == nil {
			d = new(draft)
			c.drafts[taskID] = d
		}
		d.agent = agent
		d.text.WriteString(text)
		return nil
	})
}

func draftPrefix(taskID string) []byte { return append([]byte(taskID), 0) }

// saveDrafts writes what the transaction has collected.
func (c *change) saveDrafts() error {
	for id, d := range c.drafts {
		n, err := c.next(bucketDrafts)
		if err != nil {
			return err
		}
		if err := c.put(bucketDrafts, append(draftPrefix(id), number8(n)...), []byte(d.agent+"\x00"+d.text.String())); err != nil {
			return err
		}
	}
	return nil
}

// readDraft joins the pieces of a task's unfinished answer; nil if there are none.
func (c *change) readDraft(taskID string) (*draft, error) {
	var d draft
	prefix := draftPrefix(taskID)
	cur := c.tx.Bucket(bucketDrafts).Cursor()
	for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
		agent, text, ok := bytes.Cut(v, []byte{0})
		if !ok {
			return nil, fmt.Errorf("reading an unfinished answer: %w", ErrDamaged)
		}
		d.agent = string(agent)
		d.text.Write(text)
	}
	if d.text.Len() == 0 {
		return nil, nil
	}
	return &d, nil
}

// dropDraft removes the unfinished answer of a task.
func (c *change) dropDraft(taskID string) error {
	delete(c.drafts, taskID)
	return c.deletePrefix(bucketDrafts, draftPrefix(taskID))
}
