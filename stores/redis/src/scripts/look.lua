local time = redis.call('TIME')
local held = redis.pcall('GET', KEYS[1])
