-- The usual end of sharing: others go on sharing the lock, and nobody waits.
if short and sole == '' and n > 1 and places == 0 and holds and keep == '0'
    and redis.acl_check_cmd('HSET', lock, '', '')
    and redis.acl_check_cmd('HDEL', lock, '') and redis.acl_check_cmd('ZREM', ends, '') then
    local record = cmsgpack.unpack(holds)
    if record[LINGERS] == 0 and attempt('ZCARD', ends) == n then
        -- First what a server out of memory permits.
        redis.call('ZREM', ends, 'h' .. owner)
        redis.call('HSET', lock, 'n', n - 1,
            record[MODE], (record[MODE] == 's' and s or p) - record[TAKE])
        redis.call('HDEL', lock, 'h' .. owner)
        return owner
    end
end
