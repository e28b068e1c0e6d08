"""How long launches take: graphs of launches and events around them; data to run on, and results compared, on the
GPU."""
