"""The national identity numbers that are looked for, with the check digits of python-stdnum.

A number whose shape is its own (letters and check letters, a date with its sign, dots and dashes) counts by itself. One
of plain digits counts beside a word for it only: every tenth number passes a check digit.
"""

import re
from collections.abc import Callable

from stdnum.at import vnr
from stdnum.au import tfn
from stdnum.be import nn
from stdnum.bg import egn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.cl import rut
from stdnum.cn import ric
from stdnum.cz import rc
from stdnum.de import idnr
from stdnum.dk import cpr
from stdnum.ee import ik
from stdnum.es import dni, nie
from stdnum.exceptions import ValidationError
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.gr import amka
from stdnum.hr import oib
from stdnum.ie import pps
from stdnum.il import idnr as israel
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.ro import cnp
from stdnum.se import personnummer
from stdnum.tr import tckimlik
from stdnum.us import ssn
from stdnum.za import idnr as south_africa

from app.domain.dlp.identities import Kind


def _checked(validate: Callable[[str], object]) -> Callable[[str], bool]:
    """Whether the library takes it. A number that it cannot make sense of is none, whatever it stumbles over."""

    def valid(number: str) -> bool:
        try:
            validate(number)
        except (ValidationError, ValueError, LookupError):
            return False
        return True

    return valid


#: National Insurance numbers have no check digit: prefixes that are never given out are left out.
_NINO = re.compile(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]")

NATIONAL_IDS: tuple[Kind, ...] = (
    Kind.of("us.ssn", r"[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}", _checked(ssn.validate)),
    Kind.of("us.ssn", r"[0-8][0-9]{8}", _checked(ssn.validate), "ssn", "social security"),
    Kind.of("gb.nino", r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]", lambda n: bool(_NINO.match(n))),
    Kind.of("gb.nhs", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}", _checked(nhs.validate), "nhs"),
    Kind.of("ie.pps", r"[0-9]{7}[A-W][A-IW]?", _checked(pps.validate), "pps"),
    Kind.of("de.idnr", r"[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", _checked(idnr.validate), "steuer", "idnr", "tax id",
            "tin", "identifikationsnummer"),
    Kind.of("at.vnr", r"[1-9][0-9]{3} ?[0-9]{6}", _checked(vnr.validate), "svnr", "sozialversicherung",
            "versicherungsn", "sv-"),
    Kind.of("ch.ssn", r"756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}", _checked(ahv.validate)),
    Kind.of(
        "fr.nir",
        r"[1-478] ?[0-9]{2} ?(?:0[1-9]|1[0-2]|[2-9][0-9]) ?[0-9](?:[0-9]|A|B) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
        _checked(nir.validate),
    ),
    Kind.of("es.dni", r"[0-9]{8}-?[A-HJ-NP-TV-Z]", _checked(dni.validate)),
    Kind.of("es.nie", r"[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]", _checked(nie.validate)),
    Kind.of(
        "it.codicefiscale",
        r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]",
        _checked(codicefiscale.validate),
    ),
    Kind.of("pt.nif", r"[1-35-9][0-9]{2} ?[0-9]{3} ?[0-9]{3}", _checked(nif.validate), "nif", "contribuinte"),
    Kind.of("nl.bsn", r"[0-9]{4}\.?[0-9]{2}\.?[0-9]{3}", _checked(bsn.validate), "bsn", "burgerservice", "sofi"),
    Kind.of("be.nn", r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}", _checked(nn.validate)),
    Kind.of("be.nn", r"[0-9]{11}", _checked(nn.validate), "rijksregister", "registre national", "nrn", "insz"),
    Kind.of("dk.cpr", r"[0-3][0-9][01][0-9][0-9]{2}-[0-9]{4}", _checked(cpr.validate), "cpr", "personnummer"),
    Kind.of("se.personnummer", r"(?:19|20)?[0-9]{2}[01][0-9][0-3][0-9][-+][0-9]{4}", _checked(personnummer.validate)),
    Kind.of("no.fodselsnummer", r"[0-7][0-9][01][0-9]{3} ?[0-9]{5}", _checked(fodselsnummer.validate), "fødsels",
            "fnr", "personnummer"),
    Kind.of("fi.hetu", r"[0-3][0-9][01][0-9]{3}[-+A-F][0-9]{3}[0-9A-Y]", _checked(hetu.validate)),
    Kind.of("pl.pesel", r"[0-9]{11}", _checked(pesel.validate), "pesel"),
    Kind.of("cz.rc", r"[0-9]{2}[0-8][0-9][0-3][0-9]/[0-9]{3,4}", _checked(rc.validate)),
    Kind.of("ro.cnp", r"[1-9][0-9]{12}", _checked(cnp.validate), "cnp", "cod numeric"),
    Kind.of("bg.egn", r"[0-9]{10}", _checked(egn.validate), "egn", "егн"),
    Kind.of("ee.ik", r"[1-6][0-9]{10}", _checked(ik.validate), "isikukood", "asmens kodas"),
    Kind.of("hr.oib", r"[0-9]{11}", _checked(oib.validate), "oib"),
    Kind.of("gr.amka", r"[0-3][0-9][01][0-9]{8}", _checked(amka.validate), "amka", "αμκα"),
    Kind.of("tr.tckimlik", r"[1-9][0-9]{10}", _checked(tckimlik.validate), "tckn", "t.c.", "tc kimlik", "kimlik"),
    Kind.of("br.cpf", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", _checked(cpf.validate)),
    Kind.of("br.cpf", r"[0-9]{11}", _checked(cpf.validate), "cpf"),
    Kind.of("cl.rut", r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", _checked(rut.validate)),
    Kind.of("mx.curp", r"[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[A-Z0-9][0-9]", _checked(curp.validate)),
    Kind.of("ca.sin", r"[1-79][0-9]{2}[ -]?[0-9]{3}[ -]?[0-9]{3}", _checked(sin.validate), "sin", "social insurance",
            "nas", "assurance sociale"),
    Kind.of("au.tfn", r"[0-9]{3} ?[0-9]{3} ?[0-9]{2,3}", _checked(tfn.validate), "tfn", "tax file"),
    Kind.of("in.aadhaar", r"[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", _checked(aadhaar.validate), "aadhaar", "aadhar",
            "uidai"),
    Kind.of("in.pan", r"[A-Z]{5}[0-9]{4}[A-Z]", _checked(pan.validate), "pan", "permanent account"),
    Kind.of("cn.ric", r"[1-9][0-9]{16}[0-9Xx]", _checked(ric.validate)),
    Kind.of("kr.rrn", r"[0-9]{2}[01][0-9][0-3][0-9]-[1-8][0-9]{6}", _checked(rrn.validate)),
    Kind.of("za.idnr", r"[0-9]{6} ?[0-9]{4} ?[0-9]{2} ?[0-9]", _checked(south_africa.validate), "id number", "identity",
            "said"),
    Kind.of("il.idnr", r"[0-9]{8,9}", _checked(israel.validate), "teudat", "תעודת"),
)  # fmt: skip
