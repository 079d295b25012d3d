package cli

// prefixByte is Ctrl-\.
const prefixByte = 0x1c

// prefixKey finds "Ctrl-\ d" in the user's input. A prefix that is followed by another key, or by none within the
// wait, is sent to the agent like any other key.
type prefixKey struct{ held bool }

// feed takes what the user typed and returns what to send. When detach is true, the rest of typed is ignored.
func (p *prefixKey) feed(typed []byte) (send []byte, detach bool) {
	for _, b := range typed {
		switch {
		case p.held && b == 'd':
			p.held = false
			return send, true
		case p.held && b == prefixByte:
			send = append(send, prefixByte) // the earlier one; this one is held
		case p.held:
			p.held = false
			send = append(send, prefixByte, b)
		case b == prefixByte:
			p.held = true
		default:
			send = append(send, b)
		}
	}
	return send, false
}

// expire returns the held prefix, which had no second key in time; nil when no prefix is held.
func (p *prefixKey) expire() []byte {
	if !p.held {
		return nil
	}
	p.held = false
	return []byte{prefixByte}
}
