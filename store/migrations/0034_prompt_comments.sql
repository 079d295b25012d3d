-- Comments whose message or prompt has not reached an agent so far.
CREATE INDEX comments_queued ON comments (id) WHERE delivery = 'queued';
