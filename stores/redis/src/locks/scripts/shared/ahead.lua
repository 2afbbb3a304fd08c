-- By how many seconds tokens are ahead of the server's time, if the caller says so.
local ahead = ARGV[#ARGV]
ahead = ahead and string.byte(ahead) == 43 and tonumber(table.remove(ARGV)) or 0
