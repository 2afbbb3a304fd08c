local mode = parse(ask)

local function decide()
    local own = read('h' .. owner)
    local holder = own or read('h' .. from)
    -- Who let the lock go and keeps it taken has nothing to pass on.
    if not holder or holder[LINGERS] == 1 then return {owner, 'not-held'} end
    for part = 1, 3 do
        if holder[part] ~= mode[part] then return {owner, 'mode'} end
    end
    if own then
        local left = end_of('h' .. owner) - now
        return {owner, 'granted', own[GRANT], math.floor(left / 1000), others()}
    end
    local grant = whole(math.max(now + ahead * 1000000, last + 1))
    redis.call('SET', clock, grant)
    -- Who waited under this owner has what it waited for.
    leave(owner)
    let_go(from)
    write('h' .. owner, {mode[MODE], mode[TAKE], mode[OF], grant, '', 0, label, use})
    set_end('h' .. owner, now + ttl * 1000)
    count(mode, 1)
    return {owner, 'granted', grant, tonumber(ttl), others()}
end

local reply = decide()
offer()
return save(reply)
