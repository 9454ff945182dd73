"""Small projects of several files in each language, with every call that means something in them, found by reading."""

from collections.abc import Mapping
from typing import NamedTuple

Edge = tuple[str, str]


class Project(NamedTuple):
    """`edges` are (caller, callee), each as `path:qualified name`; calls of anything else mean nothing."""

    files: Mapping[str, str]
    edges: frozenset[Edge]
    tests: frozenset[str]


GO = Project(
    {
        "cmd/main.go": """package main

import (
	"fmt"
	"os"

	"github.com/acme/shop/internal/store"
	shop "github.com/acme/shop/pkg/shopping-cart"
)

func main() {
	db, err := store.Open(os.Args[1])
	if err != nil {
		fail(err)
	}
	defer db.Close()
	cart := shop.New(db)
	cart.Add("apple", 2)
	fmt.Println(cart.Total())
}

func fail(err error) { fmt.Println(err); os.Exit(1) }
""",
        "internal/store/db.go": """package store

import "errors"

type DB struct{ rows map[string]int }

func Open(path string) (*DB, error) {
	if path == "" {
		return nil, errors.New("no path")
	}
	return newDB(), nil
}

func (d *DB) Close() error { return d.flush() }

func (d *DB) Get(key string) int { return d.rows[normal(key)] }
""",
        "internal/store/flush.go": """package store

import "strings"

func newDB() *DB { return &DB{rows: make(map[string]int)} }

func (d *DB) flush() error { return nil }

func normal(key string) string { return strings.ToLower(key) }
""",
        "pkg/shopping-cart/cart.go": """package shop

import "github.com/acme/shop/internal/store"

type Cart struct {
	db    *store.DB
	lines []line
}

type line struct{ count, price int }

func New(db *store.DB) *Cart { return &Cart{db: db} }

func (c *Cart) Add(name string, count int) {
	c.lines = append(c.lines, line{count, c.db.Get(name)})
}

func (l line) sum() int { return l.count * l.price }

func (c *Cart) Total() int {
	total := 0
	for _, item := range c.lines {
		total += item.sum()
	}
	return total
}
""",
        "pkg/shopping-cart/cart_test.go": """package shop

import "testing"

func TestTotal(t *testing.T) {
	cart := New(nil)
	if cart.Total() != 0 {
		t.Fatal("not empty")
	}
	helper(t)
}

func helper(t *testing.T) { t.Helper() }
""",
    },
    frozenset(
        {
            ("cmd/main.go:main", "internal/store/db.go:Open"),
            ("cmd/main.go:main", "cmd/main.go:fail"),
            ("cmd/main.go:main", "internal/store/db.go:DB.Close"),
            ("cmd/main.go:main", "pkg/shopping-cart/cart.go:New"),
            ("cmd/main.go:main", "pkg/shopping-cart/cart.go:Cart.Add"),
            ("cmd/main.go:main", "pkg/shopping-cart/cart.go:Cart.Total"),
            ("internal/store/db.go:Open", "internal/store/flush.go:newDB"),
            ("internal/store/db.go:DB.Close", "internal/store/flush.go:DB.flush"),
            ("internal/store/db.go:DB.Get", "internal/store/flush.go:normal"),
            ("pkg/shopping-cart/cart.go:Cart.Add", "internal/store/db.go:DB.Get"),
            ("pkg/shopping-cart/cart.go:Cart.Total", "pkg/shopping-cart/cart.go:line.sum"),
            ("pkg/shopping-cart/cart_test.go:TestTotal", "pkg/shopping-cart/cart.go:New"),
            ("pkg/shopping-cart/cart_test.go:TestTotal", "pkg/shopping-cart/cart.go:Cart.Total"),
            ("pkg/shopping-cart/cart_test.go:TestTotal", "pkg/shopping-cart/cart_test.go:helper"),
        }
    ),
    frozenset({"pkg/shopping-cart/cart_test.go:TestTotal"}),
)

TYPESCRIPT = Project(
    {
        "src/store/db.ts": """export class Db {
  private rows = new Map<string, number>();
  get(key: string): number { return this.rows.get(normal(key)) ?? 0; }
  close(): void { this.flush(); }
  private flush = () => { this.rows.clear(); };
}

export function open(path: string): Db { return new Db(); }

function normal(key: string) { return key.toLowerCase(); }
""",
        "src/store/index.ts": 'export * from "./db";\n',
        "src/cart.ts": """import { Db, open as openStore } from "./store";
import * as text from "./util/text.helpers";
import fs from "fs";

export default class Cart extends Base {
  constructor(private readonly db: Db) { super(); }
  static make(): Cart { return new Cart(openStore("x")); }
  add(name: string): number {
    fs.readFileSync(name);
    return this.db.get(text.trim(name)) + this.count();
  }
}

export class Base { count(): number { return [1].map((x) => x).length; } }
""",
        "src/util/text.helpers.ts": "export const trim = (value: string): string => value.trim();\n",
        "src/cart.test.ts": """import Cart from "./cart";

describe("cart", () => {
  it("adds", () => {
    const cart = Cart.make();
    expect(cart.add("x")).toBe(1);
  });
});
""",
        "legacy/run.js": """const { start: begin } = require("./engine");
const path = require("path");
exports.run = function () { begin(); path.join("a"); return exports.run; };
""",
        "legacy/engine.js": """function Engine() {}
Engine.prototype.turn = function () { return this.spin(); };
Engine.prototype.spin = function () {};
exports.start = () => new Engine().turn();
""",
    },
    frozenset(
        {
            ("src/store/db.ts:Db.get", "src/store/db.ts:normal"),
            ("src/store/db.ts:Db.close", "src/store/db.ts:Db.flush"),
            ("src/cart.ts:Cart.make", "src/store/db.ts:open"),
            ("src/cart.ts:Cart.add", "src/store/db.ts:Db.get"),
            ("src/cart.ts:Cart.add", "src/util/text.helpers.ts:trim"),
            ("src/cart.ts:Cart.add", "src/cart.ts:Base.count"),
            ("src/cart.test.ts:adds", "src/cart.ts:Cart.make"),
            ("src/cart.test.ts:adds", "src/cart.ts:Cart.add"),
            ("legacy/run.js:run", "legacy/engine.js:start"),
            ("legacy/engine.js:Engine.turn", "legacy/engine.js:Engine.spin"),
            ("legacy/engine.js:start", "legacy/engine.js:Engine.turn"),
        }
    ),
    frozenset({"src/cart.test.ts:adds"}),
)

JAVA = Project(
    {
        "src/main/java/com/acme/store/Db.java": """package com.acme.store;

import java.util.Map;

public class Db {
  private Map<String, Integer> rows;
  private int size;
  public static Db open(String path) { return new Db(); }
  public int get(String key) { return rows.get(Keys.normal(key)); }
  public int size() { return size; }
}
""",
        "src/main/java/com/acme/store/Keys.java": """package com.acme.store;

final class Keys {
  static String normal(String key) { return key.trim(); }
}
""",
        "src/main/java/com/acme/shop/Cart.java": """package com.acme.shop;

import static com.acme.shop.Texts.clean;

import com.acme.store.Db;

public class Cart extends Base {
  private final Db db;
  Cart(Db db) { this.db = db; }
  int add(String name) {
    log(name);
    return this.db.get(clean(name)) + total() + name.length();
  }
  int total() { var other = Db.open("x"); return other.size(); }
}
""",
        "src/main/java/com/acme/shop/Base.java": """package com.acme.shop;

class Base {
  void log(String line) { System.out.println(line); }
}
""",
        "src/main/java/com/acme/shop/Texts.java": """package com.acme.shop;

class Texts { static String clean(String text) { return text.strip(); } }
""",
        "src/test/java/com/acme/shop/CartTest.java": """package com.acme.shop;

import org.junit.jupiter.api.Test;

class CartTest {
  @Test void adds() { Cart cart = new Cart(null); cart.add("x"); check(cart); }
  private void check(Cart cart) { assertEquals(1, cart.total()); }
}
""",
    },
    frozenset(
        {
            ("src/main/java/com/acme/store/Db.java:Db.get", "src/main/java/com/acme/store/Keys.java:Keys.normal"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.add", "src/main/java/com/acme/store/Db.java:Db.get"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.add", "src/main/java/com/acme/shop/Texts.java:Texts.clean"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.add", "src/main/java/com/acme/shop/Cart.java:Cart.total"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.add", "src/main/java/com/acme/shop/Base.java:Base.log"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.total", "src/main/java/com/acme/store/Db.java:Db.open"),
            ("src/main/java/com/acme/shop/Cart.java:Cart.total", "src/main/java/com/acme/store/Db.java:Db.size"),
            (
                "src/test/java/com/acme/shop/CartTest.java:CartTest.adds",
                "src/main/java/com/acme/shop/Cart.java:Cart.add",
            ),
            (
                "src/test/java/com/acme/shop/CartTest.java:CartTest.adds",
                "src/test/java/com/acme/shop/CartTest.java:CartTest.check",
            ),
            (
                "src/test/java/com/acme/shop/CartTest.java:CartTest.check",
                "src/main/java/com/acme/shop/Cart.java:Cart.total",
            ),
        }
    ),
    frozenset({"src/test/java/com/acme/shop/CartTest.java:CartTest.adds"}),
)

RUST = Project(
    {
        "src/lib.rs": """mod store;
mod text;

use crate::store::db::Db;
use std::collections::HashMap;

pub struct Cart { db: Db, size: Option<u32> }

impl Cart {
    pub fn new(db: Db) -> Self { Self { db, size: None } }
    pub fn add(&mut self, name: &str) -> u32 {
        let map: HashMap<String, u32> = HashMap::new();
        map.get(name);
        self.db.get(&text::clean(name)) + self.size()
    }
    fn size(&self) -> u32 { self.size.unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        let mut cart = Cart::new(Db::open("x"));
        assert_eq!(cart.add("x"), check());
    }

    fn check() -> u32 { 1 }
}
""",
        "src/store/mod.rs": "pub mod db;\n",
        "src/store/db.rs": """use super::keys::normal;

pub struct Db;

impl Db {
    pub fn open(path: &str) -> Db { Db::default() }
    pub fn get(&self, key: &str) -> u32 { normal(key).len() as u32 }
}

impl Default for Db {
    fn default() -> Self { Db }
}
""",
        "src/store/keys.rs": "pub fn normal(key: &str) -> String { key.to_lowercase() }\n",
        "src/text.rs": "pub fn clean(text: &str) -> String { text.trim().to_string() }\n",
    },
    frozenset(
        {
            ("src/lib.rs:Cart.add", "src/store/db.rs:Db.get"),
            ("src/lib.rs:Cart.add", "src/text.rs:clean"),
            ("src/lib.rs:Cart.add", "src/lib.rs:Cart.size"),
            ("src/lib.rs:tests.adds", "src/lib.rs:Cart.new"),
            ("src/lib.rs:tests.adds", "src/store/db.rs:Db.open"),
            ("src/lib.rs:tests.adds", "src/lib.rs:Cart.add"),
            ("src/lib.rs:tests.adds", "src/lib.rs:tests.check"),
            ("src/store/db.rs:Db.open", "src/store/db.rs:Db.default"),
            ("src/store/db.rs:Db.get", "src/store/keys.rs:normal"),
        }
    ),
    frozenset({"src/lib.rs:tests.adds"}),
)

PROJECTS = {"go": GO, "typescript": TYPESCRIPT, "java": JAVA, "rust": RUST}
