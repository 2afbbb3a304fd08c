-- The usual ends: who has the lock for itself lets it go, and nobody waits, or the first in line wants
-- it for itself as well.
if short and keep == '0' and not waits and string.sub(sole, 1, 33) == 'h' .. owner then
    if places == 0 then
        attempt('DEL', lock, line, ends)
        return owner
    end
    local claim, place_ttl, counted = string.match(limits, '^(%d+) (%d+) .* (%d)$')
    local upto = now + claim
    if present > 0 and till >= upto and redis.acl_check_cmd('HSET', lock, '', '') and redis.acl_check_cmd('ZSCORE', line, '')
        and redis.acl_check_cmd('ZADD', line, '', '') and redis.acl_check_cmd('ZPOPMIN', line) then
        -- First what a server out of memory permits.
        local first = attempt('ZPOPMIN', line)
        local member = first[1] or ''
        local next_one = string.sub(member, 3, 34)
        -- It asked so lately that it cannot be late, whenever it was to ask again.
        local kept = string.sub(member, 1, 2) == 'qx' and redis.call('ZSCORE', line, 'k' .. next_one)
        if kept and kept - now > place_ttl - lateness(place_ttl, counted)
            and reaches(string.sub(member, 35), next_one, counted) then
            redis.call('HSET', lock, 'x', 'o' .. next_one, 'end', upto, 'present', present - 1)
            return owner
        elseif first[1] then
            redis.call('ZADD', line, first[2], member)
        end
    end
end
