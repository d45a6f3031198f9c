// Files that the build gives a name; the default export is the address.
declare module '*.svg' {
  const address: string;
  export default address;
}
