-- Comments whose message or prompt was not delivered to an agent yet.
CREATE INDEX comments_queued ON comments (id) WHERE delivery = 'queued';
