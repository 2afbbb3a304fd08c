-- What is asked for, whether the asker only tries, and whether it passes those who wait.
local kind, take, of = string.match(ask, '^(%a) ?(%d*)[ /]?(%d*)$')
take, of = tonumber(take) or 1, tonumber(of) or 0
local tries, barges = string.sub(how, 2) == 't', string.sub(how, 1, 1) == 'b'
