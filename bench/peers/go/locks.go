package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// acquire waits for a name and gives what releases it.
type acquire func(name string) (release func() error, err error)

// open makes a contestant. A ttl of nought is its own default, or 30 s where it has none.
func open(who, url string, ttl time.Duration) (acquire, error) {
	address := strings.TrimPrefix(url, "redis://")
	ctx := context.Background()
	switch who {
	case "rueidislock":
		// As its README says for one server of 7.0.5 or later.
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: []string{address}},
			KeyMajority:    1,
			NoLoopTracking: true,
			KeyValidity:    ttl,
			// When an answer takes longer it takes the key back, is not told of that because of
			// NoLoopTracking, and waits for ever. Its 20 ms are not enough on a busy machine.
			TryNextAfter: 5 * time.Second,
		})
		if err != nil {
			return nil, err
		}
		return func(name string) (func() error, error) {
			_, cancel, err := locker.WithContext(ctx, name)
			if err != nil {
				return nil, err
			}
			return func() error { cancel(); return nil }, nil
		}, nil
	case "redsync":
		client := redis.NewClient(&redis.Options{Addr: address})
		sync := redsync.New(goredis.NewPool(client))
		var options []redsync.Option
		if ttl > 0 {
			options = append(options, redsync.WithExpiry(ttl))
		}
		return func(name string) (func() error, error) {
			mutex := sync.NewMutex(name, options...)
			if err := mutex.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error {
				_, err := mutex.UnlockContext(ctx)
				return err
			}, nil
		}, nil
	case "redislock":
		client := redislock.New(redis.NewClient(&redis.Options{Addr: address}))
		if ttl == 0 {
			ttl = 30 * time.Second
		}
		// It does not wait unless told how; this is its README's way.
		waits := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
		return func(name string) (func() error, error) {
			lock, err := client.Obtain(ctx, name, ttl, waits)
			if err != nil {
				return nil, err
			}
			return func() error { return lock.Release(ctx) }, nil
		}, nil
	}
	return nil, errors.New(fmt.Sprint("nobody here is called ", who))
}
