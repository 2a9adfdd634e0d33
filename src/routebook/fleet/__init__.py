"""A simulated RocketMQ fleet: brokers and clients that behave like real ones, over TCP or in virtual time.

scenario                      what happens, from a small TOML file               ┐
population, client_profiles   brokers, topics and clients of a scenario          │ shared
incidents                     the schedule of faults, drawn from a seed          │
broker_requests               the requests of a broker to a NameServer           ┘
live/                         over TCP, in real time: `routebook fleet run`
virtual/                      against the real core, in virtual time: `routebook fleet simulate`
"""
