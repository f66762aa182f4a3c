export const TESTS = {};
