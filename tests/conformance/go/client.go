// A client of the getstep protocol, version 1. Go standard library only.

package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of the protocol.
const (
	maxServerFrame = 16384
	maxClientFrame = 4096
	maxDepth       = 8
	maxArray       = 128
	maxMap         = 32
	maxString      = 2000
	maxText        = 500
	maxName        = 64
	maxID          = 1<<31 - 1
	maxMillis      = 86_400_000
)

// The times of the client.
const (
	dialTime     = 10 * time.Second
	loginTime    = 10 * time.Second
	partialTime  = 30 * time.Second // of a frame that was begun
	writeTime    = 10 * time.Second
	settle       = time.Millisecond // before it thinks: more frames may be on their way
	settleInside = 50 * time.Millisecond
	shortPause   = 200 * time.Millisecond
	longPause    = 5 * time.Second
	leastPause   = time.Second // what an unproved server can ask for
	mostPause    = time.Minute
	tinyPause    = 20 * time.Millisecond
)

// ---------------------------------------------------------------- msgpack

type breach string

func (b breach) Error() string { return string(b) }

type decoder struct {
	data []byte
	at   int
}

// decodeMap decodes a body, which is exactly one map.
func decodeMap(data []byte) (map[string]any, error) {
	d := &decoder{data: data}
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, breach("not a map")
	}
	if d.at != len(data) {
		return nil, breach("bytes behind the map")
	}
	return m, nil
}

func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.data)-d.at {
		return nil, breach("the msgpack ends early")
	}
	piece := d.data[d.at : d.at+n]
	d.at += n
	return piece, nil
}

func (d *decoder) uint(n int) (uint64, error) {
	piece, err := d.take(n)
	if err != nil {
		return 0, err
	}
	var v uint64
	for _, b := range piece {
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// value decodes one value: nil, bool, int64, uint64 (only if over int64), float64, string, []any or map[string]any.
func (d *decoder) value(depth int) (any, error) {
	head, err := d.take(1)
	if err != nil {
		return nil, err
	}
	b := head[0]
	switch {
	case b <= 0x7f:
		return int64(b), nil
	case b <= 0x8f:
		return d.mapping(uint64(b&0x0f), depth)
	case b <= 0x9f:
		return d.array(uint64(b&0x0f), depth)
	case b <= 0xbf:
		return d.str(uint64(b & 0x1f))
	case b >= 0xe0:
		return int64(int8(b)), nil
	}
	switch b {
	case 0xc0:
		return nil, nil
	case 0xc2:
		return false, nil
	case 0xc3:
		return true, nil
	case 0xca:
		v, err := d.uint(4)
		return float64(math.Float32frombits(uint32(v))), err
	case 0xcb:
		v, err := d.uint(8)
		return math.Float64frombits(v), err
	case 0xcc, 0xcd, 0xce, 0xcf:
		v, err := d.uint(1 << (b - 0xcc))
		if v > math.MaxInt64 {
			return v, err
		}
		return int64(v), err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := 1 << (b - 0xd0)
		v, err := d.uint(size)
		shift := uint(64 - 8*size)
		return int64(v<<shift) >> shift, err
	case 0xd9, 0xda, 0xdb:
		n, err := d.uint(1 << (b - 0xd9))
		if err != nil {
			return nil, err
		}
		return d.str(n)
	case 0xdc, 0xdd:
		n, err := d.uint(2 << (b - 0xdc))
		if err != nil {
			return nil, err
		}
		return d.array(n, depth)
	case 0xde, 0xdf:
		n, err := d.uint(2 << (b - 0xde))
		if err != nil {
			return nil, err
		}
		return d.mapping(n, depth)
	}
	return nil, breach(fmt.Sprintf("the msgpack type 0x%02x is not in use", b))
}

func (d *decoder) str(n uint64) (any, error) {
	if n > maxString {
		return nil, breach("a string is too long")
	}
	piece, err := d.take(int(n))
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(piece) {
		return nil, breach("a string is not UTF-8")
	}
	return string(piece), nil
}

func (d *decoder) array(n uint64, depth int) (any, error) {
	if n > maxArray {
		return nil, breach("an array is too long")
	}
	if depth >= maxDepth {
		return nil, breach("too many containers inside each other")
	}
	if n > uint64(len(d.data)-d.at) {
		return nil, breach("the msgpack ends early")
	}
	list := make([]any, 0, n)
	for ; n > 0; n-- {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (d *decoder) mapping(n uint64, depth int) (any, error) {
	if n > maxMap {
		return nil, breach("a map has too many entries")
	}
	if depth >= maxDepth {
		return nil, breach("too many containers inside each other")
	}
	m := make(map[string]any)
	for ; n > 0; n-- {
		k, err := d.value(maxDepth) // a key is no container
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, breach("a key is not a string")
		}
		if _, twice := m[key]; twice {
			return nil, breach("a key comes twice")
		}
		if m[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func encodeInt(out []byte, v int64) []byte {
	if v >= 0 {
		return encodeUint(out, uint64(v))
	}
	switch {
	case v >= -32:
		return append(out, byte(v))
	case v >= math.MinInt8:
		return append(out, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(v))
}

func encodeUint(out []byte, v uint64) []byte {
	switch {
	case v <= 0x7f:
		return append(out, byte(v))
	case v <= math.MaxUint8:
		return append(out, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xcf), v)
}

func encodeString(out []byte, s string) ([]byte, error) {
	if len(s) > maxString {
		return nil, fmt.Errorf("a string of %d bytes, at most %d are allowed", len(s), maxString)
	}
	if !utf8.ValidString(s) {
		return nil, errors.New("a string that is not UTF-8")
	}
	switch n := len(s); {
	case n < 32:
		out = append(out, 0xa0|byte(n))
	case n <= math.MaxUint8:
		out = append(out, 0xd9, byte(n))
	default:
		out = binary.BigEndian.AppendUint16(append(out, 0xda), uint16(n))
	}
	return append(out, s...), nil
}

// encode appends any value that the protocol can carry; depth is the number of containers around it.
func encode(out []byte, v reflect.Value, depth int) ([]byte, error) {
	if len(out) > maxClientFrame {
		return nil, fmt.Errorf("a frame of over %d bytes", maxClientFrame)
	}
	switch v.Kind() {
	case reflect.Invalid:
		return append(out, 0xc0), nil
	case reflect.Interface:
		return encode(out, v.Elem(), depth)
	case reflect.Bool:
		if v.Bool() {
			return append(out, 0xc3), nil
		}
		return append(out, 0xc2), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return encodeInt(out, v.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return encodeUint(out, v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(v.Float())), nil
	case reflect.String:
		return encodeString(out, v.String())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return append(out, 0xc0), nil
		}
		n := v.Len()
		if n > maxArray {
			return nil, fmt.Errorf("an array of %d elements, at most %d are allowed", n, maxArray)
		}
		if depth >= maxDepth {
			return nil, errors.New("too many containers inside each other")
		}
		if n < 16 {
			out = append(out, 0x90|byte(n))
		} else {
			out = binary.BigEndian.AppendUint16(append(out, 0xdc), uint16(n))
		}
		for i := 0; i < n; i++ {
			var err error
			if out, err = encode(out, v.Index(i), depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case reflect.Map:
		if v.IsNil() {
			return append(out, 0xc0), nil
		}
		if v.Type().Key().Kind() != reflect.String {
			return nil, errors.New("a map with keys that are not strings")
		}
		n := v.Len()
		if n > maxMap {
			return nil, fmt.Errorf("a map of %d entries, at most %d are allowed", n, maxMap)
		}
		if depth >= maxDepth {
			return nil, errors.New("too many containers inside each other")
		}
		if n < 16 {
			out = append(out, 0x80|byte(n))
		} else {
			out = binary.BigEndian.AppendUint16(append(out, 0xde), uint16(n))
		}
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		for _, k := range keys {
			var err error
			if out, err = encodeString(out, k.String()); err != nil {
				return nil, err
			}
			if out, err = encode(out, v.MapIndex(k), depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a %s cannot be sent", v.Type())
}

type entry struct {
	key   string
	value any
}

// frame is a message of the client with its header.
func frame(entries ...entry) ([]byte, error) {
	out := []byte{0, 0, 0, 0, 0x80 | byte(len(entries))}
	for _, e := range entries {
		var err error
		if out, err = encodeString(out, e.key); err != nil {
			return nil, err
		}
		if out, err = encode(out, reflect.ValueOf(e.value), 1); err != nil {
			return nil, err
		}
	}
	if len(out)-4 > maxClientFrame {
		return nil, fmt.Errorf("a frame of %d bytes, at most %d are allowed", len(out)-4, maxClientFrame)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// ---------------------------------------------------------------- fields

// fields reads the keys of a message, and keeps the first mistake.
type fields struct {
	m   map[string]any
	err error
}

func (f *fields) wrong(key string) {
	if f.err == nil {
		if _, there := f.m[key]; there {
			f.err = breach("a wrong value of " + key)
		} else {
			f.err = breach("no " + key)
		}
	}
}

func (f *fields) text(key string, most int) string {
	s, ok := f.m[key].(string)
	if !ok || utf8.RuneCountInString(s) > most {
		f.wrong(key)
	}
	return s
}

func (f *fields) integer(key string, least, most int64) int64 {
	v, ok := f.m[key].(int64)
	if !ok || v < least || v > most {
		f.wrong(key)
	}
	return v
}

func (f *fields) optionalInteger(key string, least, most int64) {
	if f.m[key] != nil {
		f.integer(key, least, most)
	}
}

func (f *fields) boolean(key string) bool {
	v, ok := f.m[key].(bool)
	if !ok {
		f.wrong(key)
	}
	return v
}

func (f *fields) optionalBoolean(key string) bool {
	return f.m[key] != nil && f.boolean(key)
}

func (f *fields) list(key string) []any {
	v, ok := f.m[key].([]any)
	if !ok {
		f.wrong(key)
	}
	return v
}

func (f *fields) choice(key string, values ...string) string {
	s, ok := f.m[key].(string)
	for _, value := range values {
		if ok && s == value {
			return s
		}
	}
	f.wrong(key)
	return s
}

func (f *fields) options(key string) map[string]int64 {
	m, ok := f.m[key].(map[string]any)
	if !ok {
		f.wrong(key)
	}
	result := make(map[string]int64, len(m))
	for k, v := range m {
		n, ok := v.(int64)
		if _, big := v.(uint64); !ok && !big {
			f.wrong(key)
		}
		result[k] = n
	}
	return result
}

func (f *fields) present(key string) any {
	v, ok := f.m[key]
	if !ok {
		f.wrong(key)
	}
	return v
}

func (f *fields) hexadecimal(key string, digits int) string {
	s, ok := f.m[key].(string)
	if !ok || !isHex(s, digits) {
		f.wrong(key)
	}
	return s
}

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

// ---------------------------------------------------------------- signatures

func sign(token, message string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(message))
	return hex.EncodeToString(mac.Sum(nil))
}

// macOf and proofOf cover the dialled address, unless it is empty: then `join` has none.
func macOf(token, nonce, dialled string) string {
	if dialled == "" {
		return sign(token, nonce)
	}
	return sign(token, "getstep login v2:"+nonce+dialled)
}

func proofOf(token, nonce, own, dialled string) string {
	if dialled == "" {
		return sign(token, "getstep server proof v1:"+nonce+own)
	}
	return sign(token, "getstep server proof v2:"+nonce+own+dialled)
}

// fenceProofOf is the server's proof of its fencing number and of the certificate with it.
func fenceProofOf(token, nonce, own string, fence int64, certificate string) string {
	return sign(token, fmt.Sprintf("getstep fence v1:%s%s%d:%s", nonce, own, fence, certificate))
}

// paperToken gives a token that a server has made the form that it has on paper. Any other token stays as it is.
func paperToken(typed string) string {
	letters := strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, typed))
	if len(letters) != 12 || strings.Trim(letters, "abcdefghjkmnpqrstuvwxyz23456789") != "" {
		return typed
	}
	return letters[:4] + "-" + letters[4:8] + "-" + letters[8:]
}

// ---------------------------------------------------------------- the client

// Match is what `start` has told.
type Match struct {
	Number    int64
	Game      string
	Options   map[string]int64
	IsBlack   bool
	Opponent  string
	TimeKind  string
	TimeLimit time.Duration
	Lag       time.Duration
	Resumed   bool
}

// Turn is one question.
type Turn struct {
	ID         int64
	MoveNumber int64
	Board      [][]int
	IsBlack    bool
	TimeLeft   time.Duration // without the network allowance
	LastMove   any           // nil if the opponent has none
	Asked      time.Time
	Match      *Match
}

// A Bot finds a move: anything that consists of slices, ints, strings, ... A panic becomes `raised`.
type Bot func(turn *Turn) (move any)

// Client plays until the contest is over.
type Client struct {
	Address string // host:port
	Team    int64
	Token   string
	Name    string // for the host's log
	Bot     Bot
	Scale   float64 // of the pauses: 1, or less for tests
	Log     io.Writer

	pause   time.Duration // the next growing pause
	proved  bool          // there was a proved connection
	located bool          // there was one with a dialled address
	fence   int64         // the highest fencing number that was proved
	shown   string        // the certificate that came with it
	results chan answer
	busy    bool
	logLock sync.Mutex
}

// Ended tells why a client does not connect again.
type Ended struct {
	Code   int
	Reason string
}

func (e *Ended) Error() string { return e.Reason }

type question struct {
	turn    *Turn
	session *session
	match   *Match
}

type answer struct {
	q    *question
	move any
	err  string // of a bot that has failed
}

// show gives the characters that a terminal could obey an escaped form.
func show(s string) string {
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}

func (c *Client) log(format string, args ...any) {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = show(s)
		}
		if err, ok := arg.(error); ok {
			args[i] = show(err.Error())
		}
	}
	c.logLock.Lock()
	defer c.logLock.Unlock()
	fmt.Fprintf(c.Log, format+"\n", args...)
}

// grown is the next growing pause, which is at least `least`.
func (c *Client) grown(least time.Duration) time.Duration {
	if c.pause < shortPause {
		c.pause = shortPause
	}
	if c.pause < least {
		c.pause = least
	}
	pause := c.pause
	if c.pause *= 2; c.pause > longPause {
		c.pause = longPause
	}
	return pause
}

// Run plays until the contest is over (nil), or until the client has to end (*Ended).
func (c *Client) Run() error {
	c.results = make(chan answer, 1)
	if c.Scale == 0 {
		c.Scale = 1
	}
	if c.Log == nil {
		c.Log = os.Stderr
	}
	for {
		pause, err := c.connection()
		if err != nil {
			if ended := err.(*Ended); ended.Code == 0 {
				return nil
			}
			return err
		}
		pause = time.Duration(float64(pause) * c.Scale)
		c.log("connecting again in %.2f s", pause.Seconds())
		time.Sleep(pause)
	}
}

type session struct {
	conn    net.Conn
	batches chan batch
	done    chan struct{}
}

// batch is what one read has brought.
type batch struct {
	messages []map[string]any
	err      error
	partial  bool // a frame is begun
}

// read runs until the connection ends, or the server breaks a rule of frames.
func (s *session) read() {
	buffer := make([]byte, 0, 4*(maxServerFrame+4))
	for {
		if len(buffer) > 0 {
			s.conn.SetReadDeadline(time.Now().Add(partialTime))
		} else {
			s.conn.SetReadDeadline(time.Time{})
		}
		n, err := s.conn.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		var b batch
		used := 0
		for b.err == nil && len(buffer)-used >= 4 {
			length := int(binary.BigEndian.Uint32(buffer[used:]))
			if length == 0 || length > maxServerFrame {
				b.err = breach(fmt.Sprintf("a frame of %d bytes", length))
				break
			}
			if len(buffer)-used < 4+length {
				break
			}
			var m map[string]any
			if m, b.err = decodeMap(buffer[used+4 : used+4+length]); b.err == nil {
				b.messages = append(b.messages, m)
				used += 4 + length
			}
		}
		buffer = buffer[:copy(buffer, buffer[used:])]
		b.partial = len(buffer) > 0
		if b.err == nil && err != nil {
			if b.err = err; err == io.EOF {
				b.err = errors.New("the server closed it")
				if b.partial {
					b.err = breach("it ended inside a frame")
				}
			}
		}
		select {
		case s.batches <- b:
		case <-s.done:
			return
		}
		if b.err != nil {
			return
		}
	}
}

func (s *session) send(data []byte) {
	// A failed send is no reason to end: there may be a goodbye to read. The reader sees the end.
	s.conn.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := s.conn.Write(data); errors.Is(err, os.ErrDeadlineExceeded) {
		s.conn.Close()
	}
}

// connection is one connection from the beginning to the end. It returns the pause before the next one, or *Ended.
func (c *Client) connection() (time.Duration, error) {
	dialer := net.Dialer{Timeout: dialTime, KeepAlive: 5 * time.Second}
	conn, err := dialer.Dial("tcp", c.Address)
	if err != nil {
		c.log("cannot connect: %s", err)
		return c.grown(0), nil
	}
	s := &session{conn: conn, batches: make(chan batch), done: make(chan struct{})}
	defer conn.Close()
	defer close(s.done)
	go s.read()
	p := &player{c: c, s: s}
	return p.play()
}

type state int

const (
	waitsForHello state = iota
	waitsForWelcome
	loggedIn
)

// player is the state of one connection.
type player struct {
	c       *Client
	s       *session
	state   state
	nonce   string
	own     string
	dialled string
	proved  bool
	match   *Match
	open    *question // no answer was sent, and the server has not closed it
	begun   bool      // the bot thinks about `open`
}

// leave ends a connection: it is the error of a handler.
type leave struct {
	pause time.Duration
	ended *Ended
}

func (l *leave) Error() string { return "leave" }

func (p *player) play() (time.Duration, error) {
	deadline := time.NewTimer(loginTime)
	defer deadline.Stop()
	var calm <-chan time.Time // nothing more has arrived: the bot may begin
	for {
		var err error
		select {
		case b := <-p.s.batches:
			calm, err = p.take(b, deadline)
		case result := <-p.c.results:
			p.c.busy = false
			select { // first what has arrived
			case b := <-p.s.batches:
				calm, err = p.take(b, deadline)
			default:
			}
			if err == nil {
				p.answer(result)
				calm = time.After(settle)
			}
		case <-calm:
			calm = nil
			p.begin()
		case <-deadline.C:
			if p.state != loggedIn {
				err = errors.New("nothing came within 10 s")
			}
		}
		if err == nil {
			continue
		}
		var l *leave
		if errors.As(err, &l) {
			if l.ended != nil {
				return 0, l.ended
			}
			return l.pause, nil
		}
		p.c.log("connection lost: %s", err)
		return p.c.grown(0), nil
	}
}

// take handles a batch, and says when the bot may begin.
func (p *player) take(b batch, deadline *time.Timer) (<-chan time.Time, error) {
	for _, m := range b.messages {
		before := p.state
		if err := p.handle(m); err != nil {
			return nil, err
		}
		if before == waitsForHello && p.state == waitsForWelcome {
			if !deadline.Stop() {
				select {
				case <-deadline.C:
				default:
				}
			}
			deadline.Reset(loginTime)
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	if b.partial {
		return time.After(settleInside), nil
	}
	return time.After(settle), nil
}

// begin lets the bot think about the open question.
func (p *player) begin() {
	if p.open == nil || p.begun || p.c.busy {
		return
	}
	p.begun, p.c.busy = true, true
	go p.c.think(p.open)
}

func (c *Client) think(q *question) {
	result := answer{q: q}
	defer func() {
		if problem := recover(); problem != nil {
			result.err = describe(problem)
			c.log("the bot failed: %s", result.err)
			for _, line := range strings.Split(string(debug.Stack()), "\n") {
				c.log("    %s", strings.ReplaceAll(line, "\t", "    "))
			}
		}
		c.results <- result
	}()
	result.move = c.Bot(q.turn)
}

func describe(problem any) (text string) {
	defer func() {
		if recover() != nil {
			text = "an error that cannot be shown"
		}
	}()
	if text = fmt.Sprint(problem); text == "" {
		text = "an error without a text"
	}
	return text
}

// answer sends what the bot has found, unless no answer is wanted any more.
func (p *player) answer(a answer) {
	if a.q.session != p.s || a.q.match != p.match {
		return // of another connection, or the match has ended
	}
	if a.q == p.open {
		p.open, p.begun = nil, false
	}
	if a.err == "" {
		data, err := frame(entry{"type", "step"}, entry{"id", a.q.turn.ID}, entry{"move", a.move})
		if err == nil {
			p.s.send(data)
			return
		}
		a.err = "the move cannot be sent: " + err.Error()
		p.c.log("%s", a.err)
	}
	text := strings.ToValidUTF8(a.err, "\uFFFD")
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText])
	}
	data, err := frame(entry{"type", "raised"}, entry{"id", a.q.turn.ID}, entry{"error", text})
	if err != nil {
		panic(err) // it fits always
	}
	p.s.send(data)
}

func (p *player) handle(m map[string]any) error {
	f := &fields{m: m}
	kind, ok := m["type"].(string)
	if !ok {
		return breach("a message without a type")
	}
	switch {
	case kind == "goodbye":
		return p.goodbye(f)
	case kind == "hello" && p.state == waitsForHello:
		return p.hello(f)
	case kind == "welcome" && p.state == waitsForWelcome:
		return p.welcome(f)
	case kind == "start" && p.state == loggedIn && p.match == nil:
		return p.start(f)
	case kind == "get_step" && p.match != nil && p.open == nil:
		return p.getStep(f)
	case kind == "penalty" && p.match != nil:
		return p.penalty(f)
	case kind == "end" && p.match != nil:
		return p.end(f)
	}
	return breach("the server sent " + kind + ", which is unknown or not allowed now")
}

// refuse ends a new client, because its user has to do something. A client that knows its host tries again.
func (p *player) refuse(reason string) error {
	p.c.log("%s", reason)
	if p.c.proved {
		return &leave{pause: p.c.grown(leastPause)}
	}
	return &leave{ended: &Ended{1, reason}}
}

func (p *player) hello(f *fields) error {
	p.nonce = f.hexadecimal("nonce", 32)
	f.text("contest", maxName)
	f.text("server", maxName)
	friendly := f.optionalBoolean("friendly")
	checked := f.optionalBoolean("dialled")
	speaks := false
	for _, v := range f.list("versions") {
		n, ok := v.(int64)
		if _, big := v.(uint64); !ok && !big {
			f.wrong("versions")
		}
		speaks = speaks || n == 1
	}
	if f.err != nil {
		return f.err
	}
	if !speaks {
		return p.refuse(fmt.Sprintf("the server speaks the versions %v of the protocol, this client speaks 1: update it",
			f.m["versions"]))
	}
	if friendly {
		return p.refuse("this is the port for friendly matches, not that of the contest")
	}
	if checked {
		peer := p.s.conn.RemoteAddr().(*net.TCPAddr)
		p.dialled = net.JoinHostPort(peer.IP.String(), strconv.Itoa(peer.Port))
	} else if p.c.located {
		p.c.log("warning: the server does not check the dialled address now, but did before: it is not the host's")
		return &leave{pause: p.c.grown(0)}
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	p.own = hex.EncodeToString(random)
	join := []entry{{"type", "join"}, {"version", 1}, {"team", p.c.Team},
		{"mac", macOf(p.c.Token, p.nonce, p.dialled)}, {"client", p.c.Name}, {"purpose", "play"},
		{"nonce", p.own}}
	if p.dialled != "" {
		join = append(join, entry{"dialled", p.dialled})
	}
	if p.c.fence > 0 {
		join = append(join, entry{"fence", p.c.fence}, entry{"fence_certificate", p.c.shown})
	}
	data, err := frame(join...)
	if err != nil {
		return &leave{ended: &Ended{2, "the login cannot be sent: " + err.Error()}}
	}
	p.s.send(data)
	p.state = waitsForWelcome
	p.c.log("the contest %s", f.m["contest"])
	return nil
}

func (p *player) welcome(f *fields) error {
	f.integer("team", 0, maxID)
	f.text("name", maxName)
	f.integer("lag_ms", 0, maxMillis)
	for _, one := range f.list("games") {
		m, ok := one.(map[string]any)
		if !ok {
			return breach("a game that is no map")
		}
		g := &fields{m: m}
		g.text("game", maxName)
		g.options("options")
		g.choice("time_kind", "move", "budget")
		g.integer("time_ms", 1, maxMillis)
		g.optionalInteger("increment_ms", 0, maxMillis)
		if g.err != nil {
			return g.err
		}
	}
	proof := ""
	if f.m["proof"] != nil {
		proof = f.hexadecimal("proof", 64)
	}
	fence, certificate, fenceProof := int64(0), "", ""
	if f.m["fence"] != nil {
		fence = f.integer("fence", 1, maxID)
	}
	if f.m["fence_certificate"] != nil {
		certificate = f.hexadecimal("fence_certificate", 64)
	}
	if f.m["fence_proof"] != nil {
		fenceProof = f.hexadecimal("fence_proof", 64)
	}
	if f.err != nil {
		return f.err
	}
	switch {
	case proof != "" && hmac.Equal([]byte(proof), []byte(proofOf(p.c.Token, p.nonce, p.own, p.dialled))):
		p.proved, p.c.proved = true, true
		p.c.located = p.c.located || p.dialled != ""
		right := fenceProofOf(p.c.Token, p.nonce, p.own, fence, certificate)
		if fence < p.c.fence || fence > 0 && !hmac.Equal([]byte(fenceProof), []byte(right)) {
			p.c.log("warning: another computer has taken over from this server, or its fencing number is not proved")
			return &leave{pause: p.c.grown(0)}
		}
		p.c.fence, p.c.shown = fence, certificate
		p.c.pause = shortPause
	case proof != "":
		p.c.log("warning: the server does not know the token: it is not the host's")
		return &leave{pause: p.c.grown(0)}
	case p.c.proved:
		p.c.log("warning: the server gives no proof now, but did before: it is not the host's")
		return &leave{pause: p.c.grown(0)}
	default:
		p.c.log("warning: the server gives no proof that it is the host's")
	}
	p.state = loggedIn
	p.c.log("logged in as %s", f.m["name"])
	return nil
}

func (p *player) start(f *fields) error {
	match := &Match{
		Number:    f.integer("match", 1, maxID),
		Game:      f.text("game", maxName),
		Options:   f.options("options"),
		IsBlack:   f.boolean("is_black"),
		Opponent:  f.text("opponent", maxName),
		TimeKind:  f.choice("time_kind", "move", "budget"),
		TimeLimit: time.Duration(f.integer("time_ms", 1, maxMillis)) * time.Millisecond,
		Lag:       time.Duration(f.integer("lag_ms", 0, maxMillis)) * time.Millisecond,
		Resumed:   f.boolean("resumed"),
	}
	f.optionalInteger("increment_ms", 0, maxMillis)
	f.optionalBoolean("friendly")
	if f.err != nil {
		return f.err
	}
	p.match = match
	p.c.log("match %d: %s against %s", match.Number, match.Game, match.Opponent)
	return nil
}

func (p *player) getStep(f *fields) error {
	turn := &Turn{
		ID:         f.integer("id", 1, maxID),
		MoveNumber: f.integer("move_number", 1, maxID),
		IsBlack:    f.boolean("is_black"),
		TimeLeft:   time.Duration(f.integer("time_left_ms", 0, maxMillis)) * time.Millisecond,
		LastMove:   f.present("last_move"),
		Asked:      time.Now(),
		Match:      p.match,
	}
	for _, cells := range f.list("board") {
		list, ok := cells.([]any)
		if !ok {
			f.wrong("board")
		}
		row := make([]int, len(list))
		for i, cell := range list {
			n, ok := cell.(int64)
			if !ok || int64(int(n)) != n {
				f.wrong("board")
			}
			row[i] = int(n)
		}
		turn.Board = append(turn.Board, row)
	}
	if f.err != nil {
		return f.err
	}
	p.open = &question{turn: turn, session: p.s, match: p.match}
	p.begun = false
	return nil
}

func (p *player) penalty(f *fields) error {
	id := f.integer("id", 1, maxID)
	reason, detail := f.text("reason", maxName), f.text("detail", maxText)
	if f.err != nil {
		return f.err
	}
	if p.open != nil && p.open.turn.ID == id {
		p.open = nil // the bot's answer, if it thinks, is sent all the same: it is a sign of life
	}
	p.c.log("penalty %s: %s", reason, detail)
	return nil
}

func (p *player) end(f *fields) error {
	number := f.integer("match", 1, maxID)
	result := f.choice("result", "win", "draw", "loss", "void")
	reason, detail := f.text("reason", maxName), f.text("detail", maxText)
	if f.present("scores") != nil {
		scores := f.list("scores")
		if len(scores) != 2 {
			f.wrong("scores")
		}
	}
	if f.err != nil {
		return f.err
	}
	if number != p.match.Number {
		return breach("the end of another match")
	}
	p.match, p.open = nil, nil
	p.c.log("match %d: %s, %s: %s", number, result, reason, detail)
	return nil
}

func (p *player) goodbye(f *fields) error {
	reason, detail := f.text("reason", maxName), f.text("detail", maxText)
	retry := f.present("retry_ms")
	f.optionalInteger("retry_ms", 0, maxMillis)
	if f.err != nil {
		return f.err
	}
	c := p.c
	c.log("goodbye %s: %s", reason, detail)
	text := "goodbye " + reason + ": " + detail
	if ms, ok := retry.(int64); ok {
		pause := time.Duration(ms) * time.Millisecond
		if p.proved {
			if pause < tinyPause {
				pause = tinyPause
			}
		} else if pause < leastPause {
			pause = leastPause
		} else if pause > mostPause {
			pause = mostPause
		}
		return &leave{pause: pause}
	}
	switch {
	case p.proved && reason == "contest_over":
		return &leave{ended: &Ended{0, text}}
	case p.proved:
		return &leave{ended: &Ended{3, text}}
	case reason == "contest_over":
	case (p.state != loggedIn || reason == "replaced") && !c.proved:
		return &leave{ended: &Ended{1, text}}
	}
	return &leave{pause: c.grown(leastPause)}
}
