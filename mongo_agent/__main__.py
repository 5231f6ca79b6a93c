"""`python -m mongo_agent`."""

from mongo_agent.start import main

if __name__ == "__main__":
    main()
