"""`python -m app …` is `muniment …`."""

from app.cli import main

main()
