// Peers of tenure in Go, as scripts/bench-peers runs them. bench/peers/README.md has the protocol.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type words map[string]string

func (w words) number(key string) int {
	number, err := strconv.Atoi(w[key])
	if err != nil {
		fail(fmt.Errorf("%s: %w", key, err))
	}
	return number
}

func (w words) millis(key string) time.Duration {
	return time.Duration(w.number(key)) * time.Millisecond
}

func (w words) name(number int) string { return w["prefix"] + strconv.Itoa(number) }

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var input = bufio.NewReader(os.Stdin)

// ready says so, and waits to be told to begin.
func ready() {
	fmt.Println("ready")
	_, _ = input.ReadString('\n')
}

// tell prints the result and stays as it is until nobody listens.
func tell(result any) {
	line, err := json.Marshal(result)
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
	_, _ = io.Copy(io.Discard, input)
	os.Exit(0)
}

func main() {
	w := words{}
	for _, word := range os.Args[1:] {
		if key, value, ok := strings.Cut(word, "="); ok {
			w[key] = value
		}
	}
	lock, err := open(w["who"], w["url"], w.millis("ttl"))
	if err != nil {
		fail(err)
	}
	switch w["work"] {
	case "pair":
		pairs(lock, w, w.millis("warm"))
		ready()
		tell(pairs(lock, w, w.millis("millis")))
	case "hot":
		hot(lock, w)
	case "handoff":
		handoff(lock, w)
	case "hold":
		hold(lock, w)
	default:
		fail(fmt.Errorf("no such work: %s", w["work"]))
	}
}

func pairs(lock acquire, w words, length time.Duration) map[string]any {
	var all sync.WaitGroup
	var done, failed, running atomic.Int64
	start := time.Now()
	for task := range w.number("tasks") {
		name := w.name(task)
		running.Add(1)
		all.Go(func() {
			defer running.Add(-1)
			for time.Since(start) < length {
				release, err := lock(name)
				if err == nil {
					err = release()
				}
				if err == nil {
					done.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	took := length
	select {
	case <-ended:
		took = time.Since(start)
	case <-time.After(length + w.millis("grace")):
	}
	return map[string]any{
		"pairs": done.Load(), "errors": failed.Load(), "hung": running.Load(),
		"seconds": took.Seconds(),
	}
}

func bucket(wait time.Duration) int {
	return int(math.Log(float64(max(wait.Nanoseconds(), 1))) / math.Log(1.1))
}

// member is what one of a crowd wrote down. Nobody else locks it before the end, which counts those
// too who still wait.
type member struct {
	sync.Mutex
	grants, failed int
	waits          map[int]int
	longest        time.Duration
	waiting        time.Time
}

func (m *member) write(down func()) {
	m.Lock()
	defer m.Unlock()
	down()
}

func hot(lock acquire, w words) {
	name, tasks := w.name(0), w.number("tasks")
	section := time.Duration(w.number("section")) * time.Microsecond
	length := w.millis("millis")
	release, err := lock(name)
	if err != nil {
		fail(err)
	}
	if err := release(); err != nil {
		fail(err)
	}
	ready()
	crowd := make([]member, tasks)
	var running sync.WaitGroup
	start := time.Now()
	for task := range crowd {
		mine := &crowd[task]
		mine.waits = map[int]int{}
		running.Go(func() {
			for time.Since(start) < length {
				asked := time.Now()
				mine.write(func() { mine.waiting = asked })
				for {
					release, err := lock(name)
					if err == nil {
						at := time.Now()
						for time.Since(at) < section {
						}
						err = release()
						wait := at.Sub(asked)
						mine.write(func() {
							mine.waiting = time.Time{}
							mine.longest = max(mine.longest, wait)
							mine.waits[bucket(wait)]++
							if at.Sub(start) < length {
								mine.grants++
							}
						})
					}
					if err == nil {
						break
					}
					mine.write(func() { mine.failed++ })
					if time.Since(start) >= length {
						mine.write(func() { mine.waiting = time.Time{} })
						break
					}
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(length + w.millis("grace")):
	}
	grants, waits := make([]int, tasks), map[int]int{}
	var longest time.Duration
	hung, errors := 0, 0
	for task := range crowd {
		mine := &crowd[task]
		mine.write(func() {
			grants[task] = mine.grants
			for at, count := range mine.waits {
				waits[at] += count
			}
			longest = max(longest, mine.longest)
			errors += mine.failed
			if !mine.waiting.IsZero() {
				hung++
				longest = max(longest, time.Since(mine.waiting))
			}
		})
	}
	tell(map[string]any{
		"grants": grants, "waits": waits, "longest_us": longest.Microseconds(), "errors": errors,
		"hung": hung, "seconds": length.Seconds(),
	})
}

func handoff(lock acquire, w words) {
	name, length := w.name(0), w.millis("millis")
	release, err := lock(name)
	if err != nil {
		fail(err)
	}
	if err := release(); err != nil {
		fail(err)
	}
	ready()
	var kept sync.Mutex
	holds := [][2]int64{}
	ended := make(chan struct{})
	go func() {
		start := time.Now()
		for round := 0; time.Since(start) < length; round++ {
			spread := time.Duration(10*(round*37%100)) * time.Microsecond
			release, err := lock(name)
			if err == nil {
				granted := time.Now().UnixNano()
				time.Sleep(2*time.Millisecond + spread)
				released := time.Now().UnixNano()
				if release() == nil {
					kept.Lock()
					holds = append(holds, [2]int64{granted, released})
					kept.Unlock()
				}
			}
			time.Sleep(time.Millisecond)
		}
		close(ended)
	}()
	hung := 0
	select {
	case <-ended:
	case <-time.After(length + w.millis("grace")):
		hung = 1
	}
	kept.Lock()
	tell(map[string]any{"holds": holds, "hung": hung})
}

func hold(lock acquire, w words) {
	tasks := w.number("tasks")
	first, err := lock(w["prefix"] + "first-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		fail(err)
	}
	ready()
	kept := make([]func() error, tasks)
	next := make(chan int, tasks)
	for task := range tasks {
		next <- task
	}
	close(next)
	var all sync.WaitGroup
	var counts sync.Mutex
	tries := 0
	for range min(64, tasks) {
		all.Go(func() {
			for task := range next {
				release, err := lock(w.name(task))
				for err != nil {
					// Gave up waiting: the holder of this name may be about to die.
					counts.Lock()
					tries++
					counts.Unlock()
					release, err = lock(w.name(task))
				}
				kept[task] = release
			}
		})
	}
	all.Wait()
	tell(map[string]any{"held": tasks, "errors": tries > 0})
	_, _ = first, kept
}
