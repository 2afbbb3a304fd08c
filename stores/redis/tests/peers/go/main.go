// redsync and bsm/redislock, as their users call them. ../README.md has the protocol.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// release gives a lock back, and says whether it was still held.
type release func() (bool, error)

func main() {
	library, key := os.Args[1], os.Args[4]
	millis, err := strconv.Atoi(os.Args[3])
	check(err)
	try := open(library, "127.0.0.1:"+os.Args[2], key, time.Duration(millis)*time.Millisecond)
	acquire := func() release {
		done, err := try()
		check(err)
		return done
	}
	var held release
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "count":
			turns, err := strconv.Atoi(words[1])
			check(err)
			for range turns {
				done := acquire()
				text, err := os.ReadFile(words[2])
				check(err)
				number, err := strconv.Atoi(string(text))
				check(err)
				check(os.WriteFile(words[2], []byte(strconv.Itoa(number+1)), 0o600))
				if was, err := done(); err != nil || !was {
					check(fmt.Errorf("the lock was lost: %v", err))
				}
			}
			fmt.Println("done")
		case "write":
			turns, err := strconv.Atoi(words[1])
			check(err)
			check(write(try, turns, "127.0.0.1:"+words[2]))
			fmt.Println("done")
		case "hold":
			held = acquire()
			fmt.Println("held")
		case "release":
			was, err := held()
			check(err)
			if was {
				fmt.Println("released")
			} else {
				fmt.Println("lost")
			}
		}
	}
}

func open(library, address, key string, ttl time.Duration) func() (release, error) {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address})
	if library == "redsync" {
		sync := redsync.New(goredis.NewPool(client))
		return func() (release, error) {
			mutex := sync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(10_000))
			if err := mutex.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() (bool, error) {
				was, err := mutex.UnlockContext(ctx)
				var taken *redsync.ErrTaken
				if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
					return false, nil
				}
				return was, err
			}, nil
		}
	}
	locker := redislock.New(client)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond), Metadata: "peer"}
	return func() (release, error) {
		patient, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		lock, err := locker.Obtain(patient, key, ttl, options)
		if err != nil {
			return nil, err
		}
		return func() (bool, error) {
			err := lock.Release(ctx)
			if errors.Is(err, redislock.ErrLockNotHeld) {
				return false, nil
			}
			return err == nil, err
		}, nil
	}
}

// write takes the lock turns times, and each time adds one to the number of the resource at address.
func write(try func() (release, error), turns int, address string) error {
	resource, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer resource.Close()
	answers := bufio.NewReader(resource)
	ask := func(line string) (string, error) {
		if _, err := fmt.Fprintln(resource, line); err != nil {
			return "", err
		}
		answer, err := answers.ReadString('\n')
		return strings.TrimSpace(answer), err
	}
	holder := fmt.Sprint(os.Getpid(), " -")
	for turn := range turns {
		if turn > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		done, err := try()
		if err != nil {
			// It was stopped: the next turn is another one.
			continue
		}
		answer, err := ask("open " + holder)
		if err != nil {
			return err
		}
		if number, err := strconv.Atoi(answer); err == nil {
			time.Sleep(20 * time.Millisecond)
			if _, err := ask(fmt.Sprint("write ", holder, " ", number+1)); err != nil {
				return err
			}
		}
		// It may have been lost by now.
		_, _ = done()
	}
	return nil
}

func check(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}
