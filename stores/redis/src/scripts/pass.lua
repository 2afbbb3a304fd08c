-- The usual ends: who has the lock for itself lets it go, and nobody waits, or the first in line wants
-- it for itself as well.
if short and keep == '0' and not waits and string.sub(sole, 1, 33) == 'h' .. owner then
    if places == 0 then
        attempt('DEL', lock, line, ends)
        return owner
    end
    local upto = now + string.match(limits, '^%d+')
    if present > 0 and till >= upto and redis.acl_check_cmd('HSET', lock)
        and redis.acl_check_cmd('ZADD', line) and redis.acl_check_cmd('ZPOPMIN', line) then
        -- First what a server out of memory permits.
        local first = attempt('ZPOPMIN', line)
        local member = first[1] or ''
        if string.sub(member, 1, 2) == 'qx' then
            local next_one = string.sub(member, 3, 34)
            redis.call('HSET', lock, 'x', 'o' .. next_one, 'end', upto, 'present', present - 1)
            redis.pcall('PUBLISH', string.sub(member, 35), next_one)
            return owner
        elseif first[1] then
            redis.call('ZADD', line, first[2], member)
        end
    end
end
