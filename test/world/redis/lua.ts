import { lauxlib, lua, lualib, type State, to_jsstring, to_luastring } from "fengari";

/** A reply of a command or a script. */
export type RedisReply = string | number | null | readonly RedisReply[];
type Call = (name: string, args: readonly string[]) => RedisReply;

/** The table `redis` of all servers has the same address, so that scripts cannot tell servers apart by it. */
const REDIS_TABLE = `
setmetatable(redis, { __tostring = function() return 'table: 0x1' end })
redis.error_reply = function(text) return { err = text } end
redis.pcall = function(...)
  local done, reply = pcall(redis.call, ...)
  if done then return reply end
  return { err = reply }
end
unpack = table.unpack
struct = { unpack = function(form, text, at)
  local fields = {}
  for n = 1, #form do
    local zero = string.find(text, '\\0', at, true)
    fields[n], at = string.sub(text, at or 1, zero - 1), zero + 1
  end
  fields[#form + 1] = at
  return unpack(fields)
end }
local format = string.format
string.format = function(form, number) return format(form == '%d' and '%.0f' or form, number) end
`;

/** A script failed; the message is the error reply of Redis. */
export class ScriptFailed extends Error {}

/** Maximum number of compiled scripts, of 0.3 MB each: every start of a simulated Redis has one of its own. */
const COMPILED_MAX = 50;

/**
 * Runs the scripts of the gateway as Redis does. fengari is Lua 5.3; Redis has Lua 5.1, in which every number is a
 * double. So numbers enter as floats, `tonumber` returns floats, and `%d` writes floats: integers have 32 bits here.
 */
export class LuaScripts {
  private readonly state: State;
  private readonly compiled = new Map<string, number>();
  private readonly texts = new KnownTexts();
  private call: Call = () => null;
  private failure: Error | undefined;

  constructor() {
    const L = lauxlib.luaL_newstate();
    this.state = L;
    const { luaopen_base, luaopen_math, luaopen_string, luaopen_table } = lualib;
    const libraries = { _G: luaopen_base, math: luaopen_math, string: luaopen_string };
    for (const [name, open] of Object.entries({ ...libraries, table: luaopen_table })) {
      lauxlib.luaL_requiref(L, to_luastring(name), open, true);
      lua.lua_pop(L, 1);
    }
    lua.lua_pushcfunction(L, toFloat);
    lua.lua_setglobal(L, to_luastring("tonumber"));
    lua.lua_createtable(L, 0, 1);
    lua.lua_pushcfunction(L, (thread: State) => this.callRedis(thread));
    lua.lua_setfield(L, -2, to_luastring("call"));
    lua.lua_setglobal(L, to_luastring("redis"));
    lauxlib.luaL_dostring(L, to_luastring(REDIS_TABLE));
  }

  /** Runs a script. `call` runs its commands. Throws what `call` throws, or ScriptFailed. */
  run(source: string, keys: readonly string[], args: readonly string[], call: Call): RedisReply {
    const compiled = this.compile(source);
    // A new stack each time: fengari deletes what it pops, and V8 makes a slow dictionary of a stack that lives long.
    const L = lua.lua_newthread(this.state);
    lua.lua_pop(this.state, 1);
    this.call = call;
    this.failure = undefined;
    this.push(L, keys);
    lua.lua_setglobal(L, KEYS);
    this.push(L, args);
    lua.lua_setglobal(L, ARGV);
    lua.lua_rawgeti(L, lua.LUA_REGISTRYINDEX, compiled);
    const status = lua.lua_pcall(L, 0, 1, 0);
    if (status !== lua.LUA_OK) {
      const text = to_jsstring(lua.lua_tostring(L, -1));
      lua.lua_pop(L, 1);
      throw this.failure ?? new ScriptFailed(`ERR ${text}`);
    }
    const reply = this.read(L, -1);
    lua.lua_pop(L, 1);
    return reply;
  }

  private compile(source: string): number {
    const known = this.compiled.get(source);
    if (known !== undefined) return known;
    const L = this.state;
    if (this.compiled.size >= COMPILED_MAX) this.forgetCompiled();
    if (lauxlib.luaL_loadstring(L, to_luastring(source)) !== lua.LUA_OK) {
      throw new Error(to_jsstring(lua.lua_tostring(L, -1)));
    }
    const made = lauxlib.luaL_ref(L, lua.LUA_REGISTRYINDEX);
    this.compiled.set(source, made);
    return made;
  }

  private forgetCompiled(): void {
    for (const made of this.compiled.values()) {
      lauxlib.luaL_unref(this.state, lua.LUA_REGISTRYINDEX, made);
    }
    this.compiled.clear();
  }

  private callRedis(L: State): number {
    const args: string[] = [];
    for (let at = 1; at <= lua.lua_gettop(L); at += 1) args.push(this.argument(L, at));
    const [name = "", ...rest] = args;
    try {
      this.push(L, this.call(name.toUpperCase(), rest));
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      lua.lua_pushstring(L, to_luastring(this.failure.message));
      return lua.lua_error(L);
    }
    return 1;
  }

  private argument(L: State, at: number): string {
    return lua.lua_type(L, at) === lua.LUA_TNUMBER
      ? String(lua.lua_tonumber(L, at))
      : this.texts.read(L, at);
  }

  private push(L: State, reply: RedisReply): void {
    if (reply === null) lua.lua_pushboolean(L, false);
    else if (typeof reply === "string") this.texts.push(L, reply);
    else if (typeof reply === "number") lua.lua_pushnumber(L, reply);
    else {
      lua.lua_createtable(L, reply.length, 0);
      for (let at = 0; at < reply.length; at += 1) {
        this.push(L, reply[at] ?? null);
        lua.lua_rawseti(L, -2, at + 1);
      }
    }
  }

  /** Converts a return value to a reply, as Redis does: numbers lose their fraction, a list ends at its first nil. */
  private read(L: State, at: number): RedisReply {
    switch (lua.lua_type(L, at)) {
      case lua.LUA_TNUMBER:
        return Math.trunc(lua.lua_tonumber(L, at));
      case lua.LUA_TSTRING:
        return this.texts.read(L, at);
      case lua.LUA_TBOOLEAN:
        return lua.lua_toboolean(L, at) ? 1 : null;
      case lua.LUA_TTABLE:
        throwError(L, at);
        return this.readList(L, at);
      default:
        return null;
    }
  }

  private readList(L: State, at: number): RedisReply {
    const table = at < 0 ? lua.lua_gettop(L) + at + 1 : at;
    const items: RedisReply[] = [];
    for (;;) {
      const type = lua.lua_rawgeti(L, table, items.length + 1);
      if (type !== lua.LUA_TNIL) items.push(this.read(L, -1));
      lua.lua_pop(L, 1);
      if (type === lua.LUA_TNIL) return items;
    }
  }
}

/** Maximum number of known texts: most texts repeat, such as names of keys, fields and operations. */
const KNOWN_MAX = 20_000;
const TEXT_LENGTH_MAX = 200;

/**
 * Texts that the interpreter has, so that each is converted and hashed once: these conversions took a fifth of the time of
 * a world with Redis.
 */
class KnownTexts {
  /** Places in the registry of the interpreter. */
  private readonly places = new Map<string, number>();
  private readonly texts = new Map<Uint8Array, string>();

  push(L: State, text: string): void {
    const known = this.places.get(text);
    if (known !== undefined) return void lua.lua_rawgeti(L, lua.LUA_REGISTRYINDEX, known);
    lua.lua_pushstring(L, to_luastring(text));
    if (text.length > TEXT_LENGTH_MAX) return;
    if (this.places.size >= KNOWN_MAX) this.forget(L);
    this.texts.set(lua.lua_tostring(L, -1), text);
    lua.lua_pushvalue(L, -1);
    this.places.set(text, lauxlib.luaL_ref(L, lua.LUA_REGISTRYINDEX));
  }

  read(L: State, at: number): string {
    const bytes = lua.lua_tostring(L, at);
    return this.texts.get(bytes) ?? to_jsstring(bytes);
  }

  private forget(L: State): void {
    for (const place of this.places.values()) lauxlib.luaL_unref(L, lua.LUA_REGISTRYINDEX, place);
    this.places.clear();
    this.texts.clear();
  }
}

const ERR = to_luastring("err");
const KEYS = to_luastring("KEYS");
const ARGV = to_luastring("ARGV");

/** Implements `tonumber` of Lua 5.1, for decimal numbers. */
function toFloat(L: State): number {
  const type = lua.lua_type(L, 1);
  if (type === lua.LUA_TNUMBER) lua.lua_pushnumber(L, lua.lua_tonumber(L, 1));
  else {
    const text = type === lua.LUA_TSTRING ? to_jsstring(lua.lua_tostring(L, 1)).trim() : "";
    const number = text === "" ? Number.NaN : Number(text);
    if (Number.isNaN(number)) lua.lua_pushnil(L);
    else lua.lua_pushnumber(L, number);
  }
  return 1;
}

/** Throws the error reply that a Lua table with a field `err` stands for. */
function throwError(L: State, at: number): void {
  lua.lua_getfield(L, at, ERR);
  const text = lua.lua_type(L, -1) === lua.LUA_TSTRING ? to_jsstring(lua.lua_tostring(L, -1)) : "";
  lua.lua_pop(L, 1);
  if (text !== "") throw new Error(text);
}
