-- Of the other keys of the lock nothing is wanted, so it can be written while its slot is on its way.
local slots, most, text, keep = KEYS[2], tonumber(ARGV[2]), ARGV[3], ARGV[4]
-- An n if there is to be none, or an r and the record.
local before = ARGV[5]

-- Whether this owner has the lock for itself and has not let it go; nil when what is kept of the lock
-- makes no sense.
local function holds_alone()
    if held then
        local mark, has = string.match(held, '^(s?)%a?[^ ;]*;?([^ ]*) ', 33)
        return has and mark == '' and has == '' and string.sub(held, 1, 32) == owner
    end
    if not sole and attempt('PEXPIRETIME', lock) == -2 then return false end
    local whole = sole and first_end and till and next_place and present and places and n and s and p
    if not whole or sole ~= '' and n + s + p > 0 then return nil end
    -- Who is offered the lock, or keeps it taken after letting it go, is marked otherwise.
    return string.sub(sole, 1, 33) == 'h' .. owner and first_end > now
end

-- As format 1 has it of several, and no later one: their ends are not in the head.
if till and not held and not head[2] then return {owner, 'format', '1'} end
local alone = holds_alone()
if alone == nil then return {owner, 'corrupt'} end
if not alone then return {owner, 'not-held'} end
local known = recorded(slots, most)
if known == nil then return {owner, 'foreign'} end
-- A late copy of an earlier write finds another record than the one that it was to replace.
if known ~= text and (known and 'r' .. known or 'n') ~= before then return {owner, 'changed'} end
attempt('SET', slots, text, 'PX', keep)
return {owner, 'written'}
