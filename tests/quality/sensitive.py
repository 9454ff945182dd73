"""A corpus of sensitive values in five languages, each labelled where it stands, and of what only looks alike.

Values are drawn anew from the rules of their kinds; the sentences are how people write them. What looks alike (orders,
ISBNs, hashes, versions, dates, references to secrets) is as frequent as what is sensitive.
"""

import itertools
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.dlp.finding import Detector

Draw = Callable[[random.Random], str]


@dataclass(frozen=True)
class Label:
    start: int
    end: int
    detector: Detector


@dataclass(frozen=True)
class Labelled:
    language: str
    text: str
    labels: tuple[Label, ...]


NAMES = ["anna", "jean.dupont", "m.rossi", "jose_garcia", "k-mueller", "sofia2", "lee", "o.brien", "info", "t.van.dyke"]
HOSTS = ["example.org", "mail.firma.de", "entreprise.fr", "empresa.es", "azienda.it", "uni-graz.ac.at", "corp.co.uk"]


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(string.digits) for _ in range(count))


def word(rng: random.Random, letters: str, count: int) -> str:
    return "".join(rng.choice(letters) for _ in range(count))


def email(rng: random.Random) -> str:
    return f"{rng.choice(NAMES)}@{rng.choice(HOSTS)}"


def luhn_digit(body: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(body)):
        number = int(digit) * (2 if place % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return str(-total % 10)


def card(rng: random.Random) -> str:
    prefix, length = rng.choice([("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("6011", 16), ("34", 15), ("37", 15)])
    body = prefix + digits(rng, length - len(prefix) - 1)
    number = body + luhn_digit(body)
    cuts = (4, 10) if length == 15 else (4, 8, 12)
    sign = rng.choice(["", " ", "-"])
    return sign.join(number[a:b] for a, b in zip((0, *cuts), (*cuts, length), strict=True))


def iban(rng: random.Random) -> str:
    country, body = rng.choice(
        [("DE", digits(rng, 18)), ("FR", digits(rng, 23)), ("ES", digits(rng, 20)), ("AT", digits(rng, 16)),
         ("IT", word(rng, string.ascii_uppercase, 1) + digits(rng, 22)),
         ("GB", word(rng, string.ascii_uppercase, 4) + digits(rng, 14))]
    )  # fmt: skip
    number = int("".join(str(int(sign, 36)) for sign in f"{body}{country}00"))
    whole = f"{country}{98 - number % 97:02}{body}"
    return " ".join(whole[at : at + 4] for at in range(0, len(whole), 4)) if rng.random() < 0.6 else whole


def ip(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return f"2001:db8:{rng.randrange(1, 0xFFFF):x}:{rng.randrange(1, 0xFFFF):x}::{rng.randrange(1, 0xFF):x}"
    return f"{rng.choice([10, 172, 192, 203, 84])}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


PHONES: dict[str, list[Draw]] = {
    "en": [
        lambda r: f"({r.randrange(201, 990)}) {r.randrange(200, 1000)}-{digits(r, 4)}",
        lambda r: f"+1 {r.randrange(201, 990)} {r.randrange(200, 1000)} {digits(r, 4)}",
        lambda r: f"+44 20 {digits(r, 4)} {digits(r, 4)}",
        lambda r: f"020 {digits(r, 4)} {digits(r, 4)}",
    ],
    "de": [
        lambda r: f"+49 {r.randrange(30, 99)} {digits(r, 7)}",
        lambda r: f"0{r.randrange(151, 180)}/{digits(r, 7)}",
        lambda r: f"0049 {r.randrange(30, 99)} {digits(r, 6)}",
        lambda r: f"0{r.randrange(211, 999)} {digits(r, 6)}",
    ],
    "fr": [
        lambda r: f"0{r.randrange(1, 8)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)}",
        lambda r: f"+33 {r.randrange(1, 8)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)}",
        lambda r: f"0{r.randrange(6, 8)}.{digits(r, 2)}.{digits(r, 2)}.{digits(r, 2)}.{digits(r, 2)}",
    ],
    "es": [
        lambda r: f"+34 6{digits(r, 2)} {digits(r, 3)} {digits(r, 3)}",
        lambda r: f"9{digits(r, 2)} {digits(r, 2)} {digits(r, 2)} {digits(r, 2)}",
        lambda r: f"6{digits(r, 2)} {digits(r, 3)} {digits(r, 3)}",
    ],
    "it": [
        lambda r: f"+39 3{digits(r, 2)} {digits(r, 7)}",
        lambda r: f"06 {digits(r, 4)} {digits(r, 4)}",
        lambda r: f"3{digits(r, 2)} {digits(r, 3)} {digits(r, 4)}",
    ],
}  # fmt: skip


def ssn(rng: random.Random) -> str:
    return (
        f"{rng.choice([*range(1, 666), *range(667, 740)]):03}-{rng.randrange(1, 100):02}-{rng.randrange(1, 10000):04}"
    )


def nino(rng: random.Random) -> str:
    prefix = rng.choice(["AB", "CE", "JK", "PR"])
    return f"{prefix} {digits(rng, 2)} {digits(rng, 2)} {digits(rng, 2)} {rng.choice('ABCD')}"


def idnr(rng: random.Random) -> str:
    """Eleven digits of which one stands twice among the first ten, with the check digit of ISO 7064 11,10."""
    chosen = rng.sample(string.digits, 9)
    body = [*chosen, rng.choice(chosen)]
    rng.shuffle(body)
    while body[0] == "0":
        rng.shuffle(body)
    check = 10
    for digit in body:
        check = ((check + int(digit)) % 10 or 10) * 2 % 11
    whole = "".join(body) + str((11 - check) % 10)
    return f"{whole[:2]} {whole[2:5]} {whole[5:8]} {whole[8:]}" if rng.random() < 0.5 else whole


def nir(rng: random.Random) -> str:
    body = (
        f"{rng.choice('12')}{rng.randrange(30, 99):02}{rng.randrange(1, 13):02}{rng.randrange(1, 20):02}"
        f"{rng.randrange(1, 900):03}{rng.randrange(1, 999):03}"
    )
    whole = f"{body}{97 - int(body) % 97:02}"
    cuts = (0, 1, 3, 5, 7, 10, 13, 15)
    return " ".join(whole[a:b] for a, b in itertools.pairwise(cuts)) if rng.random() < 0.6 else whole


def dni(rng: random.Random) -> str:
    number = rng.randrange(10_000_000, 99_999_999)
    return f"{number}{rng.choice(['', '-'])}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def codice_fiscale(rng: random.Random) -> str:
    consonants = "BCDFGLMNPRSTVZ"
    body = (
        word(rng, consonants, 6) + f"{rng.randrange(30, 99)}" + rng.choice("ABCDEHLMPRST")
        + f"{rng.randrange(1, 29):02}" + rng.choice("ABCDEFGHL") + f"{rng.randrange(100, 999)}"
    )  # fmt: skip
    odd = dict(
        zip(
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14,
             16, 10, 22, 25, 24, 23],
            strict=True,
        )
    )  # fmt: skip
    even = {sign: int(sign) if sign.isdigit() else ord(sign) - 65 for sign in odd}
    total = sum(odd[sign] if place % 2 == 0 else even[sign] for place, sign in enumerate(body))
    return body + chr(65 + total % 26)


IDENTITIES: dict[str, list[Draw]] = {"en": [ssn, nino], "de": [idnr], "fr": [nir], "es": [dni], "it": [codice_fiscale]}

ALNUM = string.ascii_letters + string.digits


def key(rng: random.Random) -> str:
    return rng.choice(
        [
            lambda: "AKIA" + word(rng, string.ascii_uppercase + "234567", 16),
            lambda: "ghp_" + word(rng, ALNUM, 36),
            lambda: "AIza" + word(rng, ALNUM + "_-", 35),
            lambda: f"xoxb-{digits(rng, 12)}-{digits(rng, 12)}-{word(rng, ALNUM, 24)}",
            lambda: "sk_live_" + word(rng, ALNUM, 24),
            lambda: "glpat-" + word(rng, ALNUM, 20),
            lambda: "npm_" + word(rng, ALNUM, 36),
            lambda: f"eyJ{word(rng, ALNUM, 20)}.eyJ{word(rng, ALNUM, 40)}.{word(rng, ALNUM + '_-', 43)}",
        ]
    )()


def password(rng: random.Random) -> str:
    stems = ["Sommer", "dragon", "Passat", "soleil", "Madrid", "ferrari", "blue_horse"]
    return f"{rng.choice(stems)}{rng.choice(['', '!', '#', '$'])}{digits(rng, rng.randrange(2, 5))}"


#: How each kind is written in each language; `{}` is the value.
SAID: dict[str, dict[Detector, list[str]]] = {
    "en": {
        Detector.EMAIL: ["Write to {} for an offer.", "{} replied yesterday", "From: {}"],
        Detector.PHONE: ["Call me at {}.", "Phone: {}", "Our mobile number is {}, ask for Ann"],
        Detector.CARD: ["He paid with card {}.", "Visa {} was declined", "card number: {}"],
        Detector.IBAN: ["Transfer it to {} by Friday.", "IBAN {}"],
        Detector.NATIONAL_ID: ["Her number is {}.", "SSN/NINO: {}"],
        Detector.IP: ["The request came from {}.", "host {} is down", "ssh root@{}"],
        Detector.SECRET: ["The password is {}.", "password: {}", 'PASSWORD="{}"', "pwd={}"],
    },
    "de": {
        Detector.EMAIL: ["Bitte an {} senden.", "E-Mail: {}"],
        Detector.PHONE: ["Telefon: {}", "Rufen Sie mich unter {} an.", "Handy {}"],
        Detector.CARD: ["Kreditkarte {} wurde belastet.", "Kartennummer: {}"],
        Detector.IBAN: ["Überweisung auf {} bitte.", "IBAN: {}"],
        Detector.NATIONAL_ID: ["Steuer-ID {}", "Ihre Steueridentifikationsnummer lautet {}."],
        Detector.IP: ["Der Server {} antwortet nicht.", "IP-Adresse {}"],
        Detector.SECRET: ["Das Passwort ist {}.", "Passwort: {}", "Kennwort: {}"],
    },
    "fr": {
        Detector.EMAIL: ["Écrivez à {} avant lundi.", "Courriel : {}"],
        Detector.PHONE: ["Tél. : {}", "Appelez-moi au {}.", "Téléphone {}"],
        Detector.CARD: ["Paiement par carte {} refusé.", "Carte bancaire : {}"],
        Detector.IBAN: ["Virement sur le compte {}.", "IBAN : {}"],
        Detector.NATIONAL_ID: ["Numéro de sécurité sociale : {}", "Son NIR est le {}."],
        Detector.IP: ["Le serveur {} ne répond pas.", "adresse IP {}"],
        Detector.SECRET: ["Mot de passe : {}", "Le mot de passe est {}."],
    },
    "es": {
        Detector.EMAIL: ["Escriba a {} hoy mismo.", "Correo: {}"],
        Detector.PHONE: ["Teléfono: {}", "Llámame al {}.", "Móvil {}"],
        Detector.CARD: ["Pagó con la tarjeta {}.", "Número de tarjeta: {}"],
        Detector.IBAN: ["Transferencia a {}.", "IBAN: {}"],
        Detector.NATIONAL_ID: ["DNI {}", "Con DNI número {} y domicilio en Madrid"],
        Detector.IP: ["El servidor {} no responde.", "dirección IP {}"],
        Detector.SECRET: ["Contraseña: {}", "La contraseña es {}."],
    },
    "it": {
        Detector.EMAIL: ["Scrivere a {} entro lunedì.", "Posta: {}"],
        Detector.PHONE: ["Telefono: {}", "Chiamami al {}.", "Cellulare {}"],
        Detector.CARD: ["Pagato con la carta {}.", "Numero di carta: {}"],
        Detector.IBAN: ["Bonifico su {}.", "IBAN: {}"],
        Detector.NATIONAL_ID: ["Codice fiscale {}", "C.F.: {}"],
        Detector.IP: ["Il server {} non risponde.", "indirizzo IP {}"],
        Detector.SECRET: ["Password: {}", "La password è {}."],
    },
}
KEYS = ["key: {}", "export TOKEN={}", "curl -H 'Authorization: Bearer {}'", "see {} in the log", '{{"key": "{}"}}']

PROSE: dict[str, list[str]] = {
    "en": ["The meeting was moved to the second week.", "Refunds are authorised by the desk.", "Nothing else changed."],
    "de": ["Die Sitzung wurde verschoben.", "Erstattungen gibt die zweite Stelle frei.", "Sonst blieb alles gleich."],
    "fr": ["La réunion est reportée.", "Les remboursements sont autorisés au guichet.", "Rien d'autre n'a changé."],
    "es": ["La reunión se ha aplazado.", "Los reembolsos los autoriza la oficina.", "Lo demás sigue igual."],
    "it": ["La riunione è rinviata.", "I rimborsi sono autorizzati allo sportello.", "Il resto non è cambiato."],
}

ALIKE: list[Draw] = [
    lambda r: f"Order {digits(r, 9)} of {r.randrange(1, 29)}.{r.randrange(1, 13)}.20{r.randrange(10, 27)}",
    lambda r: f"ISBN 978-3-{digits(r, 2)}-{digits(r, 6)}-{digits(r, 1)}",
    lambda r: f"commit {word(r, '0123456789abcdef', 40)}",
    lambda r: "-".join(word(r, "0123456789abcdef", size) for size in (8, 4, 4, 4, 12)),
    lambda r: f"version {r.randrange(1, 20)}.{r.randrange(20)}.{r.randrange(30)}.{r.randrange(9)}",
    lambda r: f"pip install thing=={r.randrange(1, 9)}.{r.randrange(30)}.{r.randrange(9)}",
    lambda r: f"git@github.com:org/{word(r, string.ascii_lowercase, 6)}.git",
    lambda r: (
        f"20{r.randrange(10, 27)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02} {digits(r, 2)}:{digits(r, 2)}:07"
    ),
    lambda r: f"took {digits(r, 4)}.{digits(r, 6)} s at {digits(r, 10)}",
    lambda r: f"EUR {r.randrange(1, 999)}.{digits(r, 3)},{digits(r, 2)}",
    lambda r: (
        f"pages {r.randrange(1, 99)}-{r.randrange(100, 199)}, {r.randrange(200, 299)} and {r.randrange(300, 999)}"
    ),
    lambda r: "password = get_secret('db')",
    lambda r: "password: <your password>",
    lambda r: 'token = os.environ["TOKEN"]',
    lambda r: "def login(password: str, token: str | None = None) -> None: ...",
    lambda r: f"max_tokens = {digits(r, 4)}",
    lambda r: "listen on 127.0.0.1 with mask 255.255.255.0",
    lambda r: f"§ {r.randrange(1, 9)}.{r.randrange(1, 9)}.{r.randrange(1, 9)}.{r.randrange(1, 9)}",
    lambda r: f"icon@{r.randrange(2, 4)}x.png, @media print, user@localhost",
    lambda r: f"std::vector<int> x; 12:{digits(r, 2)}:{digits(r, 2)}; a::b",
    lambda r: f"| {' | '.join(digits(r, r.randrange(1, 5)) for _ in range(8))} |",
    lambda r: f"sha256:{word(r, '0123456789abcdef', 64)}",
    lambda r: f"card {digits(r, 4)} {digits(r, 4)} was replaced by form {digits(r, 6)}",
    lambda r: f"{digits(r, 4)},{digits(r, 4)},{digits(r, 4)},{digits(r, 4)}",
]


def value(rng: random.Random, language: str, detector: Detector) -> tuple[str, str]:
    """(sentence with a place, value)."""
    match detector:
        case Detector.PHONE:
            return rng.choice(SAID[language][detector]), rng.choice(PHONES[language])(rng)
        case Detector.NATIONAL_ID:
            return rng.choice(SAID[language][detector]), rng.choice(IDENTITIES[language])(rng)
        case Detector.SECRET:
            if rng.random() < 0.5:
                return rng.choice(KEYS), key(rng)
            return rng.choice(SAID[language][detector]), password(rng)
    draw = {Detector.EMAIL: email, Detector.CARD: card, Detector.IBAN: iban, Detector.IP: ip}[detector]
    return rng.choice(SAID[language][detector]), draw(rng)


def corpus(spans: int, seed: int) -> list[Labelled]:
    """`spans` labelled values in short documents, as many of each language and kind."""
    rng = random.Random(seed)
    kinds = [(language, detector) for language in SAID for detector in Detector]
    wanted = [kinds[number % len(kinds)] for number in range(spans)]
    rng.shuffle(wanted)
    wanted.sort(key=lambda pair: pair[0])
    found = []
    while wanted:
        language = wanted[0][0]
        text, labels = "", []
        for _ in range(rng.randrange(2, 7)):
            if wanted and wanted[0][0] == language:
                sentence, drawn = value(rng, language, wanted[0][1])
                before = sentence.split("{}")[0].replace("{{", "{")
                start = len(text) + len(before)
                labels.append(Label(start, start + len(drawn), wanted.pop(0)[1]))
                text += sentence.format(drawn) + "\n"
            for filler in (rng.choice(PROSE[language]), rng.choice(ALIKE)(rng)):
                text += filler + "\n"
        found.append(Labelled(language, text, tuple(labels)))
    return found
