/** The parts of fengari that the simulated Redis uses. fengari is a Lua 5.3 in JavaScript, without types of its own. */
declare module "fengari" {
  interface State {
    readonly lua: never;
  }
  type Bytes = Uint8Array;

  export function to_luastring(text: string): Bytes;
  export function to_jsstring(bytes: Bytes): string;

  export const lua: {
    readonly LUA_OK: number;
    readonly LUA_REGISTRYINDEX: number;
    readonly LUA_TNIL: number;
    readonly LUA_TBOOLEAN: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TTABLE: number;
    lua_createtable(L: State, items: number, fields: number): void;
    lua_error(L: State): number;
    lua_getfield(L: State, index: number, name: Bytes): number;
    lua_gettop(L: State): number;
    lua_newthread(L: State): State;
    lua_pcall(L: State, args: number, results: number, handler: number): number;
    lua_pop(L: State, count: number): void;
    lua_pushboolean(L: State, value: boolean): void;
    lua_pushcfunction(L: State, work: (L: State) => number): void;
    lua_pushnil(L: State): void;
    lua_pushnumber(L: State, value: number): void;
    lua_pushstring(L: State, text: Bytes): void;
    lua_pushvalue(L: State, index: number): void;
    lua_rawgeti(L: State, index: number, key: number): number;
    lua_rawseti(L: State, index: number, key: number): void;
    lua_setfield(L: State, index: number, name: Bytes): void;
    lua_setglobal(L: State, name: Bytes): void;
    lua_toboolean(L: State, index: number): boolean;
    lua_tojsstring(L: State, index: number): string;
    lua_tonumber(L: State, index: number): number;
    lua_tostring(L: State, index: number): Bytes;
    lua_type(L: State, index: number): number;
  };

  export const lauxlib: {
    luaL_dostring(L: State, source: Bytes): boolean;
    luaL_loadstring(L: State, source: Bytes): number;
    luaL_newstate(): State;
    luaL_ref(L: State, table: number): number;
    luaL_unref(L: State, table: number, reference: number): void;
    luaL_requiref(L: State, name: Bytes, open: unknown, isGlobal: boolean): void;
  };

  export const lualib: {
    readonly luaopen_base: unknown;
    readonly luaopen_math: unknown;
    readonly luaopen_string: unknown;
    readonly luaopen_table: unknown;
  };
}
