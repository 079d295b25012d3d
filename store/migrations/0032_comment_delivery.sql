-- The delivery of the message with which a comment was sent. If the delivery fails, the comment is a draft again, with the reason.
ALTER TABLE comments ADD COLUMN message_id TEXT;                          -- NULL: it was sent with the prompt of a run, or never
ALTER TABLE comments ADD COLUMN delivery TEXT NOT NULL DEFAULT '';        -- the state of that message; empty: there is none
ALTER TABLE comments ADD COLUMN delivery_reason TEXT NOT NULL DEFAULT '';
CREATE INDEX comments_by_message ON comments (message_id) WHERE message_id IS NOT NULL;
