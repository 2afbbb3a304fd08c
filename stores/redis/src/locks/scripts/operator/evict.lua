-- All members of a sorted set with these scores; nil when the key is of another type.
local function listed(key, from, upto)
    local all = redis.pcall('ZRANGEBYSCORE', key, from, upto)
    if not all.err then return all end
    if string.sub(all.err, 1, 9) == 'WRONGTYPE' then return nil end
    error(redis.acl_check_cmd('ZRANGEBYSCORE', key, '', '') and all or refused('ZRANGEBYSCORE'))
end

-- Those who hold it; nil when somebody's record cannot be read.
local function holders()
    local members, places, all = listed(ends, '-inf', '+inf'), listed(line, '(0', '+inf'), {}
    if not members or not places or not load() then return nil end
    if was_sole then members = {was_sole} end
    local function fine(field)
        local read_it, record = pcall(read, field)
        return read_it and type(record) == 'table' and record[LABEL]
    end
    for _, member in ipairs(members) do
        local holds = string.sub(member, 1, 1) == 'h'
        if not fine(holds and member or 'w' .. string.sub(member, 2)) then return nil end
        if holds then all[#all + 1] = member end
    end
    for _, member in ipairs(places) do
        if not fine('w' .. string.sub(member, 2)) then return nil end
    end
    return all
end

local all = holders()
if not all then return senseless() end
expire()
local reply, told = {owner, 'evicted'}, false
for _, member in ipairs(all) do
    local at = end_of(member)
    if at and (only == '' or member == 'h' .. only) then
        local holder = read(member)
        local shown = holder[MODE]
        if shown == 'p' then shown = 'p ' .. holder[TAKE] .. ' ' .. holder[OF] end
        local left = math.floor((at - now) / 1000)
        reply[#reply + 1] = {shown, holder[GRANT], left, holder[LINGERS], holder[LABEL], holder[USE] or '', string.sub(member, 2)}
        told = told or holder[LINGERS] == 0
        write(member, false)
        set_end(member, false)
        count(holder, -1)
    end
end
offer()
save(reply, true)
-- What only stayed taken after a release has nobody to tell.
if told then redis.pcall('PUBLISH', ARGV[3], lock) end
return reply
