-- Gives back the hold of a call; does nothing if it has none. ARGV: call
give_back(ARGV[3])
return { n, 'ok' }
