import pytest

from app.providers.parsers.registry import decode, parse

JAPANESE = "会議は東京で行われた。議題は予算と人員配置である。りんごは百円です。"
CHINESE = "合同编号为一百二十三,甲方应当在三十日内付款。名称和价格见附件。"
TRADITIONAL = "這是一個測試文件,名稱與價格請參閱附件,並於三十日內付款。"
KOREAN = "이것은 한국어 시험 파일입니다. 회의는 서울에서 열렸다."
RUSSIAN = "Это проверка русского текста. Договор вступает в силу."
POLISH = "Zażółć gęślą jaźń, to jest próba. Źródło świateł świeci nad łąką, więc idź."
GERMAN = "Größe und Übermaß sind schöne Wörter für die Prüfung."


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (JAPANESE, "shift_jis", "Shift-JIS"),
        ("品名,価格\nりんご,100\nみかん,200\n", "shift_jis", "Shift-JIS"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        (CHINESE, "gb18030", "GB18030"),
        (TRADITIONAL, "big5", "Big5"),
        (KOREAN, "euc_kr", "EUC-KR"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (RUSSIAN, "koi8_r", "KOI8-R"),
        (POLISH, "cp1250", "Windows-1250"),
        (GERMAN, "cp1252", "Windows-1252"),
        ("plain words in Latin letters, " + GERMAN, "utf-16-le", "UTF-16-LE"),
        ("plain words in Latin letters, " + GERMAN, "utf-16-be", "UTF-16-BE"),
    ],
)
def test_an_encoding_without_a_mark_is_known_by_its_letters(text: str, encoding: str, name: str) -> None:
    assert decode(text.encode(encoding)) == (text, (f"Not UTF-8; read as {name}.",))


@pytest.mark.parametrize(
    "head", ['<?xml version="1.0" encoding="{}"?>', '<html><head><meta charset="{}">', "# -*- coding: {} -*-\n"]
)
def test_what_a_text_declares_counts(head: str) -> None:
    text = head.format("iso-8859-7") + "Αυτό είναι"
    assert decode(text.encode("iso-8859-7")) == (text, ("Not UTF-8; read as ISO8859-7.",))


def test_a_declaration_that_does_not_fit_is_not_believed() -> None:
    text = '<meta charset="ascii">' + GERMAN
    assert decode(text.encode("cp1252"))[0] == text


@pytest.mark.parametrize("name", ["a.csv", "a.md", "a.txt", "a.html"])
def test_every_format_is_decoded(name: str) -> None:
    parsed = parse(name, JAPANESE.encode("shift_jis"))
    assert parsed.text.strip() == JAPANESE
    assert parsed.problems == ("Not UTF-8; read as Shift-JIS.",)
