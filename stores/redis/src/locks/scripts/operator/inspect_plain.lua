return seen(ARGV[1], KEYS[1])
