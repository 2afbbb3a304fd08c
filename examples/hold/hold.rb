# Counts in a file under a lock: ruby hold.rb LOCK FILE TURNS
require "json"
require "open3"

class NotHeld < StandardError; end

class Hold
  attr_reader :token

  def self.open(name, *options)
    hold = new(name, *options)
    yield hold
  ensure
    hold&.release
  end

  def initialize(name, *options)
    words = ["tenure", "hold", name, "--json", "--parent", Process.pid.to_s, *options]
    @in, @out, @child = Open3.popen2(*words)
    @checks = 0
    @token = hear("acquired")["token_number"]
  end

  # The next line about this event; the end of a hold raises.
  def hear(event, id = nil)
    while (line = @out.gets)
      said = JSON.parse(line)
      return said if said["event"] == event && said["id"] == id
      raise NotHeld, said["message"] || "the lock was lost" if said["event"] == "lost" || said.key?("exit_code")
    end
    raise NotHeld, "tenure hold has ended"
  end

  # Until when to count on the lock. An id finds the answer: that to an earlier check may be unread.
  def check
    id = (@checks += 1).to_s
    sent = Hold.now
    begin
      @in.puts("check #{id}")
      @in.flush
    rescue Errno::EPIPE # what it said last is in the output
    end
    checked = hear("checked", id)
    raise NotHeld, "the lock was lost" unless checked["held"]
    sent + checked["valid_ms"] / 1000.0
  end

  def release
    begin @in.close rescue Errno::EPIPE end
    @child.value
    @out.close
  end

  # This clock counts the time in which the machine sleeps.
  def self.now = Process.clock_gettime(Process::CLOCK_BOOTTIME)
end

lock, path, turns = ARGV
turns.to_i.times do
  Hold.open(lock, "--wait", "60s") do |hold|
    count, seen = File.read(path).split.map(&:to_i)
    raise "an older holder must not write after a newer one" unless hold.token > seen
    valid_until = hold.check
    File.write(path, "#{count + 1} #{hold.token}\n") if Hold.now < valid_until
  end
end
