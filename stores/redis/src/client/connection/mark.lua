#!lua flags=allow-oom
return redis.call('SET', KEYS[1], '', 'PX', 60000)
