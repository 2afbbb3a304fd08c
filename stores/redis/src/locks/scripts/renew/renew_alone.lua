-- Each hold by its own key. What is anything else than a hold of this owner alone, or of another one
-- alone, is for the larger script, and so is what the server refuses.
local pcall, sub = redis.pcall, string.sub
local answers = {ARGV[1]}
for index = 1, #KEYS do
    local lock, owner, ttl = KEYS[index], ARGV[2 * index], ARGV[2 * index + 1]
    local held, answer = pcall('GET', lock), 'crowd'
    if type(held) == 'string' and sub(held, 1, 32) ~= owner then
        answer = 'lost'
    -- It shortens nothing, and leaves alone what somebody made endless.
    elseif type(held) == 'string' and pcall('PEXPIRE', lock, ttl, 'GT') == 1 then
        answer = tonumber(ttl)
    elseif type(held) == 'string' then
        local left = pcall('PTTL', lock)
        if type(left) == 'number' and left >= tonumber(ttl) then answer = left end
    end
    answers[index + 1] = answer
end
return answers
