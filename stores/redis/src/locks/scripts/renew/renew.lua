local holder = read('h' .. owner)
if not holder or holder[LINGERS] == 1 then
    offer()
    return save({owner, 'lost'}, true)
end
local upto = math.max(end_of('h' .. owner), now + ttl * 1000)
set_end('h' .. owner, upto)
local waiting = others()
offer()
return save({owner, 'renewed', math.floor((upto - now) / 1000), waiting}, true)
