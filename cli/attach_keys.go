package cli

// prefixByte is Ctrl-\.
const prefixByte = 0x1c

// prefixKey finds "Ctrl-\ d" in what is typed. A prefix that nothing follows in
// time, or that something else follows, is the agent's like any other key.
type prefixKey struct{ held bool }

// feed takes what was typed and gives what is to be sent. detach says that the
// rest does not matter any more.
func (p *prefixKey) feed(typed []byte) (send []byte, detach bool) {
	for _, b := range typed {
		switch {
		case p.held && b == 'd':
			p.held = false
			return send, true
		case p.held && b == prefixByte:
			send = append(send, prefixByte) // the earlier one; this one waits
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

// expire gives the prefix that waited too long; nothing when none does.
func (p *prefixKey) expire() []byte {
	if !p.held {
		return nil
	}
	p.held = false
	return []byte{prefixByte}
}
