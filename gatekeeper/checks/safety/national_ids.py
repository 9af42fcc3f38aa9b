"""National identifiers of people: their form, and the module of python-stdnum that checks them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module

_FORMS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "AT": (("at.vnr", r"\d{4} ?\d{6}"),),
    "AU": (("au.tfn", r"\d{3} ?\d{3} ?\d{2,3}"),),
    "BE": (("be.nn", r"\d{2}[. ]?\d{2}[. ]?\d{2}[- ]?\d{3}[. ]?\d{2}"),),
    "BG": (("bg.egn", r"\d{10}"),),
    "BR": (("br.cpf", r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"),),
    "CA": (("ca.sin", r"\d{3}[- ]?\d{3}[- ]?\d{3}"),),
    "CH": (("ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}"),),
    "CL": (("cl.rut", r"\d{1,2}\.?\d{3}\.?\d{3}-?[\dkK]"),),
    "CN": (("cn.ric", r"\d{17}[\dxX]"),),
    "CZ": (("cz.rc", r"\d{6}/?\d{3,4}"),),
    "DE": (("de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),),
    "DK": (("dk.cpr", r"\d{6}-?\d{4}"),),
    "EE": (("ee.ik", r"\d{11}"),),
    "ES": (("es.dni", r"\d{8}-?[A-Za-z]"), ("es.nie", r"[XYZxyz]-?\d{7}-?[A-Za-z]")),
    "FI": (("fi.hetu", r"\d{6}[-+A-Fa-fU-Yu-y]\d{3}[0-9A-Za-z]"),),
    "FR": (("fr.nir", r"[12378] ?\d{2} ?\d{2} ?\d[\dABab] ?\d{3} ?\d{3} ?\d{2}"),),
    "GB": (("gb.nhs", r"\d{3}[- ]?\d{3}[- ]?\d{4}"),),
    "GR": (("gr.amka", r"\d{11}"),),
    "HR": (("hr.oib", r"\d{11}"),),
    "IE": (("ie.pps", r"\d{7}[A-Wa-w][ABHWTXabhwtx]?"),),
    "IL": (("il.idnr", r"\d{7,8}-?\d"),),
    "IN": (("in_.aadhaar", r"\d{4} ?\d{4} ?\d{4}"), ("in_.pan", r"[A-Za-z]{5}\d{4}[A-Za-z]")),
    "IS": (("is_.kennitala", r"\d{6}-?\d{4}"),),
    "IT": (("it.codicefiscale", r"[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z]"),),
    "JP": (("jp.in_", r"\d{4}[- ]?\d{4}[- ]?\d{4}"),),
    "KR": (("kr.rrn", r"\d{6}-?\d{7}"),),
    "LT": (("lt.asmens", r"\d{11}"),),
    "MX": (("mx.curp", r"[A-Za-z]{4}\d{6}[A-Za-z]{6}[0-9A-Za-z]\d"),),
    "NL": (("nl.bsn", r"\d{4}\.?\d{2}\.?\d{3}"),),
    "NO": (("no.fodselsnummer", r"\d{6} ?\d{5}"),),
    "PL": (("pl.pesel", r"\d{11}"),),
    "RO": (("ro.cnp", r"\d{13}"),),
    "SE": (("se.personnummer", r"(?:\d{2})?\d{6}[-+]?\d{4}"),),
    "TR": (("tr.tckimlik", r"\d{11}"),),
    "US": (("us.ssn", r"\d{3}-\d{2}-\d{4}"), ("us.itin", r"9\d{2}-\d{2}-\d{4}")),
    "ZA": (("za.idnr", r"\d{13}"),),
}
COUNTRIES = tuple(_FORMS)


def national_ids(text: str, countries: tuple[str, ...]) -> Iterator[str]:
    """Yield the identifiers of these countries that have the right form and check digits."""
    for country in countries:
        for module, form in _FORMS[country]:
            is_valid = import_module(f"stdnum.{module}").is_valid
            for found in re.finditer(rf"(?<![\w.-]){form}(?![\w-])", text, re.ASCII):
                if is_valid(found[0]):
                    yield found[0]
