-- What became of the message that a comment was sent as: one that was not delivered is a draft again, and says why.
ALTER TABLE comments ADD COLUMN message_id TEXT;                          -- NULL: it went as the prompt of a run, or was never sent
ALTER TABLE comments ADD COLUMN delivery TEXT NOT NULL DEFAULT '';        -- the state of that message; empty: there is none
ALTER TABLE comments ADD COLUMN delivery_reason TEXT NOT NULL DEFAULT '';
CREATE INDEX comments_by_message ON comments (message_id) WHERE message_id IS NOT NULL;
