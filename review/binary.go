package review

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// binaryPart is one direction of a binary change: the whole content of a version, or a delta from the other version.
type binaryPart struct {
	delta bool
	size  int    // of data, unpacked
	lines string // the encoded data, as the patch contains it
}

// binaries reads both directions of a binary change. The current line must be "GIT binary patch".
func (s *scanner) binaries(f *File) error {
	s.next()
	var err error
	if f.forward, err = s.binary(); err == nil && f.forward != nil {
		f.reverse, err = s.binary()
	}
	return err
}

func (s *scanner) binary() (*binaryPart, error) {
	size, literal := s.after("literal ")
	if !literal {
		var ok bool
		if size, ok = s.after("delta "); !ok {
			return nil, nil
		}
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return nil, ErrMalformed
	}
	s.next()
	from := s.at
	for !s.eof && len(s.line) > 1 {
		s.next()
	}
	b := &binaryPart{delta: !literal, size: n}
	if s.text != "" {
		b.lines = s.text[from:s.at]
	}
	s.next() // the empty line that ends the part
	return b, nil
}

// maxContent is the maximum size in bytes of a binary file that is compared.
const maxContent = 64 << 20

// data returns the part's decoded and unpacked data.
func (b *binaryPart) data() ([]byte, error) {
	if b.size > maxContent {
		return nil, ErrTooLarge
	}
	var packed []byte
	for line := range strings.Lines(b.lines) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return nil, ErrMalformed
		}
		bytes, err := decode85(line[1:], lineLength(line[0]))
		if err != nil {
			return nil, err
		}
		packed = append(packed, bytes...)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.Join(ErrMalformed, err)
	}
	data, err := io.ReadAll(io.LimitReader(z, int64(b.size)+1))
	if err != nil || len(data) != b.size {
		return nil, errors.Join(ErrMalformed, err)
	}
	return data, nil
}

// lineLength returns how many bytes a line of a binary patch encodes, from the line's first character; -1: not a
// valid one.
func lineLength(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c-'A') + 1
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 27
	default:
		return -1
	}
}

const digits85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

func decode85(text string, size int) ([]byte, error) {
	out := make([]byte, 0, len(text)/5*4)
	for ; len(text) >= 5; text = text[5:] {
		var v uint64
		for i := range 5 {
			digit := strings.IndexByte(digits85, text[i])
			if digit < 0 {
				return nil, ErrMalformed
			}
			v = v*85 + uint64(digit)
		}
		if v > 1<<32-1 {
			return nil, ErrMalformed
		}
		out = binary.BigEndian.AppendUint32(out, uint32(v))
	}
	if text != "" || size < 0 || size > len(out) || len(out)-size > 3 {
		return nil, ErrMalformed
	}
	return out[:size], nil
}

func encode85(w *strings.Builder, data []byte) {
	for len(data) > 0 {
		line := data[:min(52, len(data))]
		data = data[len(line):]
		if len(line) <= 26 {
			w.WriteByte('A' + byte(len(line)) - 1)
		} else {
			w.WriteByte('a' + byte(len(line)) - 27)
		}
		for len(line) > 0 {
			var four [4]byte
			line = line[copy(four[:], line):]
			v := binary.BigEndian.Uint32(four[:])
			var five [5]byte
			for i := 4; i >= 0; i-- {
				five[i] = digits85[v%85]
				v /= 85
			}
			w.Write(five[:])
		}
		w.WriteByte('\n')
	}
}

// content is one version of a file, as a sequence of pieces.
type content []piece

// piece is literal bytes; or, when bytes is nil, a range of the other version.
type piece struct {
	bytes    []byte
	at, size int
}

func (c content) size() (n int) {
	for _, p := range c {
		n += p.size
	}
	return n
}

// mostPieces limits how many pieces a small crafted patch can expand to.
const mostPieces = 1 << 18

// apply computes the version that this part makes from the other version.
func (b *binaryPart) apply(to content) (content, error) {
	data, err := b.data()
	if err != nil {
		return nil, err
	}
	if !b.delta {
		return content{{bytes: data, size: len(data)}}, nil
	}
	from, data, ok := varint(data)
	size, data, ok2 := varint(data)
	if !ok || !ok2 || from != to.size() {
		return nil, ErrMalformed
	}
	ends := make([]int, len(to)) // end offset of each piece
	for i, p := range to {
		ends[i] = p.size
		if i > 0 {
			ends[i] += ends[i-1]
		}
	}
	var out content
	for len(data) > 0 {
		var at, many int
		if at, many, data, ok = instruction(data); !ok {
			return nil, ErrMalformed
		}
		if at < 0 {
			out = append(out, piece{bytes: data[:many], size: many})
			data = data[many:]
		} else if out, ok = to.copied(out, ends, at, many); !ok {
			return nil, ErrMalformed
		}
		if len(out) > mostPieces {
			return nil, ErrTooLarge
		}
	}
	if out.size() != size {
		return nil, ErrMalformed
	}
	return out, nil
}

// copied appends many bytes of c, from offset at, to out. ends are the end offsets of c's pieces.
func (c content) copied(out content, ends []int, at, many int) (content, bool) {
	for i := sort.SearchInts(ends, at+1); i < len(c) && many > 0 && len(out) <= mostPieces; i++ {
		p := c[i]
		skip := at - (ends[i] - p.size)
		n := min(many, p.size-skip)
		if p.bytes != nil {
			out = append(out, piece{bytes: p.bytes[skip : skip+n], size: n})
		} else {
			out = append(out, piece{at: p.at + skip, size: n})
		}
		at, many = at+n, many-n
	}
	return out, many == 0 || len(out) > mostPieces
}

// varint reads a size, encoded with seven bits per byte.
func varint(data []byte) (n int, rest []byte, ok bool) {
	for i, c := range data {
		if i > 8 {
			break
		}
		n |= int(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, data[i+1:], n >= 0
		}
	}
	return 0, nil, false
}

// instruction reads one instruction of a delta: copy many bytes from offset at; or, when at is negative, insert the
// next many bytes.
func instruction(data []byte) (at, many int, rest []byte, ok bool) {
	code := data[0]
	data = data[1:]
	if code&0x80 == 0 {
		many = int(code)
		return -1, many, data, many > 0 && many <= len(data)
	}
	for bit := range 7 {
		if code&(1<<bit) == 0 {
			continue
		}
		if len(data) == 0 {
			return 0, 0, nil, false
		}
		if bit < 4 {
			at |= int(data[0]) << (8 * bit)
		} else {
			many |= int(data[0]) << (8 * (bit - 4))
		}
		data = data[1:]
	}
	if many == 0 {
		many = 0x10000
	}
	return at, many, data, true
}

// write writes a version in the format of a patch: literally, or as a delta from the other version, which has other
// bytes.
func (c content) write(w *strings.Builder, other int) error {
	var data []byte
	word := "literal"
	for _, p := range c {
		if p.bytes == nil && p.size > 0 {
			word = "delta"
		}
	}
	if word == "delta" {
		data = appendVarint(appendVarint(nil, other), c.size())
	}
	for _, p := range c {
		switch {
		case p.bytes == nil:
			data = appendCopy(data, p.at, p.size)
		case word == "literal":
			data = append(data, p.bytes...)
		default:
			for rest := p.bytes; len(rest) > 0; {
				n := min(0x7f, len(rest))
				data = append(append(data, byte(n)), rest[:n]...)
				rest = rest[n:]
			}
		}
		if len(data) > maxContent {
			return ErrTooLarge
		}
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %d\n", word, len(data))
	encode85(w, packed.Bytes())
	w.WriteByte('\n')
	return nil
}

func appendVarint(data []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		data = append(data, byte(n)|0x80)
	}
	return append(data, byte(n))
}

// appendCopy appends copy instructions. One instruction copies at most 64 KiB.
func appendCopy(data []byte, at, size int) []byte {
	for size > 0 {
		n := min(size, 0x10000)
		code, where := byte(0x80), len(data)
		data = append(data, 0)
		for bit := range 4 {
			if b := byte(at >> (8 * bit)); b != 0 {
				code |= 1 << bit
				data = append(data, b)
			}
		}
		for bit := range 2 {
			if b := byte(n >> (8 * bit)); b != 0 && n != 0x10000 {
				code |= 1 << (bit + 4)
				data = append(data, b)
			}
		}
		data[where] = code
		at, size = at+n, size-n
	}
	return data
}
