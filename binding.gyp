# For tools that only know node-gyp: the same set-up that `npm run build` runs. package.json says
# "gypfile": false, so npm never starts this by itself.
{
  "targets": [
    {
      "target_name": "millrace",
      "type": "none",
      "actions": [
        {
          "action_name": "cmake",
          "inputs": [],
          "outputs": ["<(module_root_dir)/build/release/millrace.node"],
          "action": ["node", "<(module_root_dir)/scripts/setup.mjs", "start"]
        }
      ]
    }
  ]
}
